"""Large readings wait for each other, small ones for nobody."""

from __future__ import annotations

from contextlib import closing

import anyio
import pytest

from sluicegate.api.budget import Budget, TableLimits, TableTooLarge, Turns

_SMALL, _LARGE = 1_000_000, 40_000_000


async def test_a_third_large_reading_waits_until_one_is_closed() -> None:
    turns = Turns()
    first, second, third = (Budget(turns=turns) for _ in range(3))
    await first.admit(_LARGE)
    await second.admit(_LARGE)
    await second.admit(_LARGE)
    await third.admit(_SMALL)
    with anyio.move_on_after(0.01) as waited:
        await third.admit(_LARGE)
    assert waited.cancelled_caught
    first.close()
    await third.admit(_LARGE)


async def test_what_turns_out_to_be_large_in_a_thread_is_decoded_again_in_its_turn() -> None:
    turns = Turns()
    taken: list[int] = []

    def decode(budget: Budget, pieces: int) -> int:
        for piece in range(pieces):
            budget.take("a file", bytes=20_000_000)
            taken.append(piece)
        return pieces

    with closing(Budget(turns=turns)) as budget:
        assert await budget.run(decode, budget, 3) == 3
        assert taken == [0, 0, 1, 2]
        assert turns.free.borrowed_tokens == 1
    assert turns.free.borrowed_tokens == 0


async def test_a_turn_ends_where_reading_fails() -> None:
    turns, limits = Turns(), TableLimits(bytes=50_000_000)
    with closing(Budget(limits, turns)) as budget:
        await budget.admit(_LARGE)
        assert turns.free.borrowed_tokens == 1
        with pytest.raises(TableTooLarge):
            budget.take("a file", bytes=60_000_000)
    assert turns.free.borrowed_tokens == 0


async def test_a_renewed_budget_begins_again_with_the_same_limits() -> None:
    budget = Budget(TableLimits(rows=10))
    budget.take("a file", rows=10)
    later = budget.renewed()
    later.take("a file", rows=10)
    with pytest.raises(TableTooLarge, match="10 entries"):
        later.take("a file", rows=1)
