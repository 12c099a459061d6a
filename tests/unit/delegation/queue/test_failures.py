import pytest

from sluicegate.api import InvalidRequest, StorageError, TaskFailed
from sluicegate.api.errors import NotFound
from sluicegate.delegation.queue.failures import AttemptFailure, failure_of, loggable, status_of


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def test_a_failed_task_keeps_its_code_words_and_detail() -> None:
    error = TaskFailed("no table", error_code="NOT_GRANTED", detail="s3://lake/t")
    assert failure_of(error) == AttemptFailure("NOT_GRANTED", "no table", False, "s3://lake/t")


@pytest.mark.parametrize("retryable", [True, False])
def test_a_failed_task_decides_about_its_retry(retryable: bool) -> None:
    error = TaskFailed("later", error_code="ENGINE_FAILED", retryable=retryable)
    assert failure_of(error).retryable is retryable


@pytest.mark.parametrize("code", ["lower", "", "A" * 65, "1A", None, 7])
def test_a_code_that_is_not_valid_is_an_internal_error(code: object) -> None:
    error = TaskFailed("words", error_code="ENGINE_FAILED")
    error.error_code = code  # type: ignore[assignment]  # as a plugin without types can
    assert failure_of(error).error_code == "INTERNAL_ERROR"


def test_a_plugins_own_code_is_kept() -> None:
    error = TaskFailed("words", error_code="ENGINE_FAILED")
    error.error_code = "QUOTA_2"  # type: ignore[assignment]  # as a plugin without types can
    assert failure_of(error).error_code == "QUOTA_2"


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (StorageError("slow down"), "STORAGE_FAILED", True),
        (InvalidRequest("bad"), "INVALID_PAYLOAD", False),
        (NotFound("gone"), "INTERNAL_ERROR", False),
        (KeyError("x"), "INTERNAL_ERROR", True),
        (SystemExit(1), "EXECUTOR_FAILED", True),
    ],
)
def test_other_exceptions_are_judged_by_their_kind(
    error: BaseException, code: str, retryable: bool
) -> None:
    failure = failure_of(error)
    assert (failure.error_code, failure.retryable) == (code, retryable)


def test_the_words_of_an_unexpected_error_are_not_kept() -> None:
    failure = failure_of(RuntimeError("password hunter2"))
    assert "hunter2" not in f"{failure.message}{failure.detail}"
    assert failure.detail == "RuntimeError"


def test_a_signed_url_is_redacted() -> None:
    url = "https://lake/t?sv=1&sig=c2lnbmVk"
    failure = failure_of(StorageError(f"cannot read {url}", detail=f"at {url}"))
    assert "c2lnbmVk" not in f"{failure.message}{failure.detail}"
    assert failure.message.startswith("cannot read https://lake/t")


def test_characters_that_no_database_stores_are_replaced() -> None:
    assert failure_of(StorageError("a\0b\ud800c")).message == "a\ufffdb\ufffdc"


@pytest.mark.parametrize(("length", "kept"), [(4_000, 4_000), (4_001, 4_001), (50_000, 4_001)])
def test_long_words_are_cut_at_4000_characters(length: int, kept: int) -> None:
    message = failure_of(StorageError("word " * (length // 5) + "x" * (length % 5))).message
    assert len(message) == kept
    assert message.endswith("…") is (length > 4_000)


def test_a_log_shows_the_kind_and_the_stack_of_an_exception() -> None:
    with pytest.raises(KeyError) as raised:
        {"y": 1}["x"]
    shown = loggable(raised.value)
    assert shown.__traceback__ is raised.value.__traceback__
    assert str(shown) == "KeyError: 'x'"


def test_words_that_cannot_be_read_are_reported_as_such() -> None:
    assert str(loggable(Mute())) == "Mute: (its message cannot be read)"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("INVALID_PAYLOAD", 400),
        ("NOT_GRANTED", 403),
        ("TASK_CANCELLED", 409),
        ("STORAGE_FAILED", 502),
        ("WORKER_LOST", 500),
        ("QUOTA_2", 500),
        (None, 500),
    ],
)
def test_a_code_has_the_documented_status(code: str | None, status: int) -> None:
    assert status_of(code) == status
