"""Verification finds each change of a chain, and names the record."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.audit.records import KEY, KEYS, RING, numbered

from sluicegate.audit.chain import START, ChainKeys, ChainPosition, Head, parse_line
from sluicegate.audit.encoding import encode
from sluicegate.audit.own_records import broken
from sluicegate.audit.verification.findings import VerifiedChain
from sluicegate.audit.verification.verifier import ChainVerifier, check_expected
from sluicegate.signing.keyring import KeyRing

_LENGTH = 12
_OTHER = ChainKeys(KeyRing((b"another key, which is long enough, too",)))


def _chain(keys: ChainKeys = KEYS, length: int = _LENGTH, after: ChainPosition = START) -> list[bytes]:
    bodies = [encode(numbered(number)) for number in range(length)]
    return keys.sealing.seal(bodies, after)[0]


def _verify(
    lines: Sequence[bytes],
    keys: ChainKeys = KEYS,
    *,
    head: Head | None = None,
    after: ChainPosition = START,
) -> VerifiedChain:
    verifier = ChainVerifier("test", keys, after)
    for line in lines:
        verifier.feed(line)
    return verifier.finish(head, has_head=head is not None)


def _found(lines: Sequence[bytes]) -> tuple[str, int] | None:
    end = parse_line(_chain()[-1])
    finding = _verify(lines, head=Head(ChainPosition(end.seq, end.mac))).finding
    return None if finding is None else (finding.kind, finding.seq)


def test_an_intact_chain_is_verified() -> None:
    result = _verify(_chain())
    assert (result.records, result.first, result.head.seq, result.finding) == (
        _LENGTH,
        1,
        _LENGTH,
        None,
    )


@given(st.integers(0, _LENGTH - 1), st.data())
def test_a_changed_byte_is_found(index: int, data: st.DataObject) -> None:
    lines = _chain()
    line = lines[index]
    at = data.draw(st.integers(line.index(b'"at"'), len(line) - 1))
    other = data.draw(st.integers(32, 126).filter(lambda byte: byte != line[at]))
    lines[index] = line[:at] + bytes([other]) + line[at + 1 :]
    assert _found(lines) == ("changed", index + 1)


def test_a_mac_in_capital_letters_is_a_changed_record() -> None:
    lines = _chain()
    lines[1] = lines[1][:-66] + lines[1][-66:-2].upper() + lines[1][-2:]
    assert _found(lines) == ("changed", 2)


@given(st.integers(0, _LENGTH - 2), st.integers(1, _LENGTH))
def test_removed_records_are_found(index: int, count: int) -> None:
    lines = _chain()
    rest = lines[index + count :]
    assert _found(lines[:index] + rest) == ("removed" if rest else "cut off", index + 1)


@given(st.integers(0, _LENGTH), st.integers(0, _LENGTH - 1))
def test_a_copied_record_is_found(place: int, copied: int) -> None:
    lines = _chain()
    found = _found([*lines[:place], lines[copied], *lines[place:]])
    if place in (copied, copied + 1):
        assert found == ("inserted", copied + 1)  # the copy is next to the original
    elif place > copied:
        assert found == ("inserted", copied + 1)
    else:
        assert found == ("reordered", place + 1)


@given(st.integers(1, _LENGTH))
def test_a_forged_record_is_found(seq: int) -> None:
    lines = _chain()
    previous = parse_line(lines[seq - 2]) if seq > 1 else None
    after = START if previous is None else ChainPosition(previous.seq, previous.mac)
    guessed = _OTHER.sealing.seal([encode(numbered(99))], after)[0][0]
    known = parse_line(lines[0]).key.encode()
    forged = guessed.replace(parse_line(guessed).key.encode(), known, 1)
    assert _found([*lines[: seq - 1], forged, *lines[seq - 1 :]]) == ("inserted", seq)
    assert _found([*lines[: seq - 1], forged, *lines[seq:]]) == ("changed", seq)


@given(st.lists(st.integers(0, _LENGTH - 1), min_size=2, max_size=2, unique=True).map(sorted))
def test_exchanged_records_are_found(places: list[int]) -> None:
    first, second = places
    lines = _chain()
    lines[first], lines[second] = lines[second], lines[first]
    assert _found(lines) == ("reordered", first + 1)


def test_a_record_of_an_unknown_key_is_named() -> None:
    lines = _chain(length=3)
    last = parse_line(lines[-1])
    more = _OTHER.sealing.seal([encode(numbered(3))], ChainPosition(last.seq, last.mac))[0]
    finding = _verify([*lines, *more]).finding
    assert finding is not None
    assert (finding.kind, finding.seq) == ("unknown key", 4)
    assert parse_line(more[0]).key in finding.message


def test_a_chain_of_several_keys_is_verified_with_all_of_them() -> None:
    newer = KeyRing((b"the second key, which is long enough", KEY))
    lines = _chain(length=3)
    last = parse_line(lines[-1])
    lines += ChainKeys(newer).sealing.seal([encode(numbered(3))], ChainPosition(last.seq, last.mac))[0]
    assert _verify(lines, ChainKeys(newer)).finding is None
    assert _verify(lines, ChainKeys(KeyRing(newer.keys[:1]), former=[KEY])).finding is None
    missing = _verify(lines, ChainKeys(KeyRing(newer.keys[:1]))).finding
    assert missing is not None
    assert (missing.kind, missing.seq) == ("unknown key", 1)


def test_a_former_key_does_not_seal() -> None:
    keys = ChainKeys(KeyRing((b"the second key, which is long enough",)), former=[KEY])
    assert parse_line(_chain(keys)[0]).key != parse_line(_chain()[0]).key


def test_the_end_of_a_chain_is_authenticated() -> None:
    head = Head(ChainPosition(5, bytes(32)), START)
    seal = KEYS.sealing.head_seal("database", head)
    assert KEYS.accepts_head("database", head, seal)
    assert not KEYS.accepts_head("files 00", head, seal)
    assert not KEYS.accepts_head("database", Head(ChainPosition(4, bytes(32)), START), seal)
    assert not _OTHER.accepts_head("database", head, seal)


def test_a_missing_head_is_found() -> None:
    verifier = ChainVerifier("test", KEYS, START)
    for line in _chain():
        verifier.feed(line)
    finding = verifier.finish(None).finding
    assert finding is not None
    assert finding.kind == "head"


def test_a_break_that_the_gateway_has_recorded_is_found_and_the_rest_is_verified() -> None:
    bodies = [encode(numbered(0)), broken("somebody did it", "0:").body, encode(numbered(1))]
    result = _verify(KEYS.sealing.seal(bodies, START)[0])
    assert result.finding is not None
    assert (result.finding.kind, result.finding.seq, result.head.seq) == ("broken", 2, 3)
    assert "somebody did it" in result.finding.message


@given(st.integers(1, _LENGTH))
def test_an_expected_head_is_matched_only_by_the_same_chain(seq: int) -> None:
    line = parse_line(_chain()[seq - 1])
    expected = [ChainPosition(line.seq, line.mac)]

    def findings(lines: Sequence[bytes], keys: ChainKeys = KEYS) -> int:
        verifier = ChainVerifier("test", keys, START, expected)
        for each in lines:
            verifier.feed(each)
        return len(check_expected([verifier.finish(None, has_head=False)], expected))

    assert findings(_chain()) == 0
    assert findings(_chain()[: seq - 1]) == 1  # an older state
    assert findings(_chain(_OTHER), _OTHER) == 1  # another log


@pytest.mark.parametrize(
    "text", ["", "5", "5:", "5:ff", f"x:{64 * '0'}", f"-1:{64 * '0'}", f"5:{64 * 'g'}"]
)
def test_a_position_that_was_not_printed_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"SEQ:MAC|hexadecimal"):
        ChainPosition.parse(text)


def test_a_position_is_parsed_as_it_is_printed() -> None:
    position = ChainPosition(7, bytes(range(32)))
    assert ChainPosition.parse(str(position)) == position
    assert RING.signing not in str(position).encode()
