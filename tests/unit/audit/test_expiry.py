"""Only sealed times make records old, and records that can't be verified are as old as later ones."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.audit.records import KEYS, numbered

from sluicegate.audit.chain import START, ChainKeys, ChainPosition, parse_line
from sluicegate.audit.encoding import encode
from sluicegate.audit.expiry import ExpiryCheck
from sluicegate.signing.keyring import KeyRing

_LOST = ChainKeys(KeyRing((b"a key that was lost, which is long enough",)))


def _chain(numbers: range, keys: ChainKeys = KEYS, after: ChainPosition = START) -> list[bytes]:
    return keys.sealing.seal([encode(numbered(number)) for number in numbers], after)[0]


def _end(lines: Sequence[bytes]) -> ChainPosition:
    line = parse_line(lines[-1])
    return ChainPosition(line.seq, line.mac)


def _expired(groups: Sequence[Sequence[bytes]], oldest: int) -> tuple[int, int | None] | None:
    """Number and time of the last old record, if records from `oldest` on stay."""
    check = ExpiryCheck(KEYS, START, numbered(oldest).at)
    for group in groups:
        if not check.feed(group):
            break
    found = check.expired
    if found is None:
        return None
    return found.last.seq, None if found.last_at is None else found.last_at - numbered(0).at


@pytest.mark.parametrize(
    ("oldest", "found"), [(0, None), (1, (1, 0)), (5, (5, 4)), (8, (8, 7)), (99, (8, 7))]
)
def test_records_are_old_until_the_first_that_is_not(oldest: int, found: tuple[int, int]) -> None:
    assert _expired([[line] for line in _chain(range(8))], oldest) == found


def test_records_of_a_group_are_deleted_together() -> None:
    lines = _chain(range(8))
    assert _expired([lines[:3], lines[3:]], 7) == (3, 2)


def test_the_largest_time_counts_and_not_the_last_one() -> None:
    bodies = [encode(numbered(number)) for number in (3, 9, 1, 2)]
    lines, _ = KEYS.sealing.seal(bodies, START)
    assert _expired([lines], 9) is None
    assert _expired([lines], 10) == (4, 9)


def test_changed_records_are_only_as_old_as_the_next_that_is_intact() -> None:
    lines = _chain(range(8))
    lines[2] = lines[2].replace(b'"allowed"', b'"refused"')
    groups = [[line] for line in lines]
    assert _expired(groups, 3) == (2, 1)  # the next intact one is not old
    assert _expired(groups, 4) == (4, 3)
    lines[3] = b"garbage"
    assert _expired([[line] for line in lines], 5) == (2, 1)
    # The record after a line that is none can't be verified, either.
    assert _expired([[line] for line in lines], 6) == (6, 5)


def test_records_of_a_lost_key_are_deleted_with_later_ones() -> None:
    lost = _chain(range(5), _LOST)
    lines = [*lost, *_chain(range(5, 8), after=_end(lost))]
    groups = [[line] for line in lines]
    assert _expired(groups, 5) is None
    assert _expired(groups, 6) == (6, 5)
    assert _expired([[line] for line in lost], 99) is None


def test_records_at_another_place_end_the_deletion() -> None:
    lines = _chain(range(8))
    for moved in ([lines[6], *lines[:6]], [*lines[:2], lines[0], *lines[2:]]):
        check = ExpiryCheck(KEYS, START, numbered(99).at)
        fed = [check.feed([line]) for line in moved]
        assert False in fed
        assert check.problem is not None
        assert "is not at its place" in check.problem


def test_records_that_were_deleted_before_make_nothing_old() -> None:
    lines = _chain(range(8))
    check = ExpiryCheck(KEYS, _end(lines[:4]), numbered(99).at)
    assert not check.feed(lines[:4])
    assert check.expired is None


def test_a_line_without_a_time_is_never_old() -> None:
    lines, _ = KEYS.sealing.seal([b'{"other":1}'], START)
    assert _expired([lines], 99) is None
