"""Collects and checks the errors that a plugin raises."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from pydantic import BaseModel, SecretBytes, SecretStr

from sluicegate.api import SluicegateError

Call = Callable[[], Awaitable[object]]
Calls = Mapping[str, Call]

# Shorter texts are not secrets, and could occur by chance.
_SHORTEST_SECRET = 4
_DEEPEST = 8


@dataclass(frozen=True)
class Failure:
    """An error that a call raised.

    Attributes:
        call: Name of the call.
        error: The error.
        circumstances: The kind of failure of the source; empty if it did not fail.
    """

    call: str
    error: Exception
    circumstances: str = ""

    def __str__(self) -> str:
        """Return the call and the type of its error, without the error's text."""
        kind = type(self.error)
        where = f"{self.call} ({self.circumstances})" if self.circumstances else self.call
        return f"{where} raises {kind.__module__}.{kind.__qualname__}"


async def failures_of(calls: Calls, circumstances: str = "") -> list[Failure]:
    """Run calls concurrently and return the errors of those that fail."""

    async def failure(name: str, call: Call) -> Failure | None:
        try:
            await call()
        except Exception as error:
            return Failure(name, error, circumstances)
        return None

    found = await asyncio.gather(*(failure(name, call) for name, call in calls.items()))
    return [each for each in found if each is not None]


def check_kinds(failures: Sequence[Failure], *allowed: type[SluicegateError]) -> None:
    """Fail for errors that do not belong to the plugin API, or are not of an allowed kind.

    Raises:
        AssertionError: Such errors exist. The message names the calls.
    """
    kinds = allowed or (SluicegateError,)
    names = ", ".join(kind.__name__ for kind in kinds)
    wrong = [str(each) for each in failures if not isinstance(each.error, kinds)]
    assert wrong == [], f"raise {names} of sluicegate.api instead: {'; '.join(wrong)}"


def check_texts(failures: Sequence[Failure], hidden: Collection[str], *, log: bool) -> None:
    """Fail for errors whose texts contain a secret, plain or percent-encoded.

    Args:
        failures: The errors.
        hidden: Texts that must not be shown.
        log: Whether the log, and therefore `detail`, must not contain them either.

    Raises:
        AssertionError: A text contains one of them. The message names the calls, but does not repeat
            the secret.
    """
    spellings = {each for text in hidden for each in (text, quote(text, safe=""))}
    wrong = [
        f"{each} with it in '{part}'"
        for each in failures
        for part, text in _texts(each.error, log=log)
        if any(spelling in text for spelling in spellings)
    ]
    assert wrong == [], "; ".join(wrong)


def configured_secrets(instance: object) -> frozenset[str]:
    """Return the values of each `SecretStr` that an instance contains, in its settings or elsewhere."""
    found = _secrets(instance, _DEEPEST, set())
    return frozenset(each for each in found if len(each) >= _SHORTEST_SECRET)


def _texts(error: Exception, *, log: bool) -> Iterator[tuple[str, str]]:
    if not isinstance(error, SluicegateError):
        yield "its text", f"{error} {error!r}"
        return
    yield "message", f"{error.message} {error} {error.args!r}"
    if log:
        yield "detail", error.detail or ""
        yield "notes", " ".join(getattr(error, "__notes__", ()))


def _secrets(value: object, depth: int, seen: set[int]) -> Iterator[str]:
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, SecretBytes):
        yield value.get_secret_value().decode(errors="replace")
    elif depth and id(value) not in seen:
        seen.add(id(value))
        for part in _parts(value):
            yield from _secrets(part, depth - 1, seen)


def _parts(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        yield from list(value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from list(value)
    elif isinstance(value, BaseModel):
        # Not `dict(value)`, which calls a field named `keys`.
        yield from (part for _, part in value)
    elif not isinstance(value, type | str | bytes | int | float):
        yield from list(getattr(value, "__dict__", {}).values())
        names = (name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ()))
        yield from (getattr(value, name, None) for name in names)
