"""The errors of the public API pass between processes, as Spark and multiprocessing send them."""

from __future__ import annotations

import copy
import pickle
from typing import TypeVar

import pytest

import sluicegate.api
from sluicegate.api import TaskFailed, Unauthenticated, conditions, errors

T = TypeVar("T", bound=Exception)

PUBLIC = sorted(
    {
        value
        for module in (sluicegate.api, errors, conditions)
        for name in dir(module)
        if isinstance(value := getattr(module, name), type) and issubclass(value, Exception)
    },
    key=lambda kind: kind.__name__,
)
TASK_FAILED = TaskFailed(
    "the table is busy", error_code="STORAGE_FAILED", retryable=True, detail="lock 7"
)
UNAUTHENTICATED = Unauthenticated("no", detail="db-7", challenge="Negotiate")
METHOD = errors.MethodNotAllowed("GET, HEAD")


class OfAPlugin(errors.StorageError):
    """An error with its own arguments, as plugins define them."""

    def __init__(self, store: str, *, attempts: int) -> None:
        super().__init__(f"the store {store} does not respond", detail=f"{attempts} attempts")
        self.attempts = attempts


def example(kind: type[Exception]) -> Exception:
    for each in (TASK_FAILED, UNAUTHENTICATED, METHOD):
        if type(each) is kind:
            return each
    if issubclass(kind, errors.SluicegateError):
        return kind("what is wrong", detail="db-7")
    return kind("what is wrong")


def transferred(error: T, protocol: int = pickle.DEFAULT_PROTOCOL) -> T:
    """The error as the other process gets it."""
    restored: T = pickle.loads(pickle.dumps(error, protocol))  # noqa: S301 (pickled here)
    return restored


@pytest.mark.parametrize(
    "error",
    [*map(example, PUBLIC), OfAPlugin("lake", attempts=3)],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickled_errors_keep_their_message_and_attributes(error: Exception, protocol: int) -> None:
    restored = transferred(error, protocol)
    assert type(restored) is type(error)
    assert (str(restored), restored.args) == (str(error), error.args)
    assert vars(restored) == vars(error)


def test_a_restored_challenge_is_still_checked() -> None:
    restored = transferred(UNAUTHENTICATED)
    assert restored.challenge == "Negotiate"
    with pytest.raises(ValueError, match="printable ASCII"):
        restored.challenge = "a\r\nb"


def test_errors_are_copied_with_their_attributes() -> None:
    assert vars(copy.copy(TASK_FAILED)) == vars(TASK_FAILED)
