"""Answers that are remembered for a while: max-age and stale-while-revalidate (RFC 5861)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sluicegate.errors import NotFound, SluicegateError, Unavailable
from sluicegate.lru import LRU
from sluicegate.tables.singleflight import SingleFlight

_T = TypeVar("_T")
Ask = Callable[[], Coroutine[Any, Any, _T]]

log = logging.getLogger(__name__)

_ENTRIES = 10_000
# Who has just failed is left alone for a moment: not every request waits for a catalog that is down.
_REST_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _Answer(Generic[_T]):
    """A value, or that there is none, and when it was asked: an answer is as old as that."""

    value: _T | NotFound
    asked_at: float


@dataclass(frozen=True, slots=True)
class _Failure:
    """There was no answer, and until when nobody asks again."""

    error: Unavailable
    until: float


class Remembered(Generic[_T]):
    """Remembers the answers of one kind of question.

    An answer is given without asking for `max_age`. For `stale` after that it is still given, while
    it is asked anew in the background. What is older is never given. One question is under way for
    all who ask it. That there is no such thing is remembered for `max_age`, and that the catalog did
    not answer for a moment, but no longer than an answer would be.

    Args:
        max_age: Seconds.
        stale: Seconds beyond `max_age`.
        clock: Seconds, monotonic.
        may_be_stale: Whether an answer may be given while it is asked anew.
    """

    def __init__(
        self,
        max_age: float,
        stale: float,
        clock: Callable[[], float],
        may_be_stale: Callable[[_T], bool] = lambda _: True,
    ) -> None:
        self._max_age = max_age
        self._stale = stale
        self._rest = min(_REST_SECONDS, max_age)
        self._clock = clock
        self._may_be_stale = may_be_stale
        self._answers: LRU[Hashable, _Answer[_T]] = LRU(_ENTRIES)
        self._failures: LRU[Hashable, _Failure] = LRU(_ENTRIES)
        self._flights: SingleFlight[_T] = SingleFlight()

    async def get(self, key: Hashable, ask: Ask[_T]) -> _T:
        """The remembered answer, or a new one.

        Raises:
            NotFound: There is no such thing.
            SluicegateError: What `ask` raises, where nothing is remembered that may be given.
        """
        now = self._clock()
        answer = self._answers.get(key)
        failure = self._failures.get(key)
        rests = failure is not None and now < failure.until
        if answer and now - answer.asked_at < self._max_age:
            return _given(answer)
        if answer and self._may_still_be_given(answer, now):
            if not rests:
                self._flights.start(key, lambda: self._ask_again(key, ask))
            return _given(answer)
        if failure and rests:
            raise Unavailable(failure.error.message, detail=failure.error.detail)
        return await self._flights.run(key, lambda: self._ask(key, ask))

    async def aclose(self) -> None:
        """Cancel the questions that are under way."""
        await self._flights.aclose()

    def _may_still_be_given(self, answer: _Answer[_T], now: float) -> bool:
        return (
            now - answer.asked_at < self._max_age + self._stale
            and not isinstance(answer.value, NotFound)
            and self._may_be_stale(answer.value)
        )

    async def _ask(self, key: Hashable, ask: Ask[_T]) -> _T:
        asked_at = self._clock()
        try:
            value = await ask()
        except NotFound as missing:
            self._answers.put(key, _Answer(missing, asked_at))
            raise
        except Unavailable as error:
            self._failures.put(key, _Failure(error, self._clock() + self._rest))
            raise
        self._answers.put(key, _Answer(value, asked_at))
        return value

    async def _ask_again(self, key: Hashable, ask: Ask[_T]) -> _T:
        try:
            return await self._ask(key, ask)
        except SluicegateError as error:
            log.warning("what is remembered is given a little longer: %s", error.for_operators)
            raise


def _given(answer: _Answer[_T]) -> _T:
    if isinstance(answer.value, NotFound):
        raise NotFound(answer.value.message, detail=answer.value.detail)
    return answer.value
