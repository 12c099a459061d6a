"""Verifies the lines of a chain in order, with bounded memory."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from sluicegate.audit.chain import START, ChainKeys, ChainPosition, Head, Line, parse_line
from sluicegate.audit.encoding import decode
from sluicegate.audit.own_records import BROKEN, DELETED, HEADS
from sluicegate.audit.records import AuditRecord
from sluicegate.audit.verification.deletions import DeletionCheck
from sluicegate.audit.verification.findings import ChainFinding, VerifiedChain

_OWN_ACTIONS = "|".join((BROKEN, DELETED, HEADS))
_OWN = re.compile(rb'"actor_kind":"gateway",.*"action":"(?:%b)"' % _OWN_ACTIONS.encode())


@dataclass(frozen=True, slots=True)
class _Suspicion:
    """What a later line decides: if it has number `seq` (and is authentic), the finding is `other`."""

    finding: ChainFinding
    seq: int
    other: ChainFinding
    needs_mac: bool


class ChainVerifier:
    """Takes the lines of a chain in their order, and finds the first one that is wrong."""

    def __init__(
        self,
        chain: str,
        keys: ChainKeys,
        after: ChainPosition | None,
        expected: Collection[ChainPosition] = (),
        retention: int | None = None,
        number: int = 0,
    ) -> None:
        self._chain = chain
        self._number = number
        self._keys = keys
        self._last = after
        self._first = 0
        self._count = 0
        self._expected = frozenset(expected)
        self._expected_seqs = frozenset(each.seq for each in expected)
        self._matched = {each for each in expected if each == after}
        self._deletions = DeletionCheck(retention)
        self._sealed: dict[int, int] = {}
        self._break: ChainFinding | None = None
        self._finding: ChainFinding | None = None
        self._suspicion: _Suspicion | None = None

    @property
    def last(self) -> ChainPosition | None:
        """The last line that was verified, or that is before the first one."""
        return self._last

    @property
    def is_done(self) -> bool:
        """Whether further lines don't change the finding."""
        return self._finding is not None

    def feed(self, raw: bytes) -> None:
        """Verify the next line, without its line break."""
        if self._finding is not None:
            return
        try:
            line = parse_line(raw)
        except ValueError:
            if self._suspicion is None:
                seq = self._next_seq
                self._finding = ChainFinding(
                    "changed", seq, f"record {seq} was changed: it is not a record"
                )
            return
        if self._suspicion is not None:
            self._decide(self._suspicion, line)
        elif self._last is None:
            self._accept(line)
        else:
            self._check(line, self._last)

    def mislabelled(self, seq: int, text: str) -> None:
        """Note that what is stored next to a record, such as a column, differs from the record."""
        if self._finding is None and self._suspicion is None:
            self._finding = ChainFinding("label", seq, text)

    def unreadable(self, reason: str) -> None:
        """Note that the next lines can't be read."""
        if self._finding is None and self._suspicion is None:
            seq = self._next_seq
            self._finding = ChainFinding("unreadable", seq, f"record {seq} can't be read: {reason}")

    def finish(self, head: Head | None, *, has_head: bool = True) -> VerifiedChain:
        """Return the result, after the last line.

        Args:
            has_head: Whether the chain must have a head. Exports don't have one.
        """
        if self._finding is None and self._suspicion is not None:
            self._finding = self._suspicion.finding
        possible = (self._break, self._finding, self._deletions.finding)
        found = [each for each in possible if each is not None]
        finding = min(found, key=lambda each: each.seq, default=None)
        if finding is None and has_head:
            finding = self._check_head(head)
        last = self._last or START
        return VerifiedChain(
            self._chain,
            self._count,
            self._first,
            last,
            finding,
            frozenset(self._matched),
            self._deletions.notes,
            self._sealed,
        )

    @property
    def _next_seq(self) -> int:
        return 1 if self._last is None else self._last.seq + 1

    def _check(self, line: Line, last: ChainPosition) -> None:
        seq = last.seq + 1
        if line.seq > seq:
            missing = f"{seq}" if line.seq == seq + 1 else f"{seq} to {line.seq - 1}"
            removed = ChainFinding("removed", seq, f"record {missing} was removed")
            moved = ChainFinding("reordered", seq, f"record {seq} is after record {line.seq}")
            self._suspicion = _Suspicion(removed, seq, moved, needs_mac=False)
        elif line.seq < seq:
            text = f"a record {line.seq} was inserted after record {last.seq}"
            self._finding = ChainFinding("inserted", line.seq, text)
        elif not self._keys.knows(line.key):
            text = f"record {seq} was sealed with the key {line.key}, which is not configured"
            self._finding = ChainFinding("unknown key", seq, text)
        elif line.chain != self._number or not self._keys.verifies(line, last.mac):
            changed = ChainFinding("changed", seq, f"record {seq} was changed")
            inserted = ChainFinding(
                "inserted", seq, f"a record {seq} was inserted before the original one"
            )
            self._suspicion = _Suspicion(changed, seq, inserted, needs_mac=True)
        else:
            self._accept(line)

    def _accept(self, line: Line) -> None:
        self._last = line.position
        self._first = self._first or line.seq
        self._count += 1
        if line.seq in self._expected_seqs and self._last in self._expected:
            self._matched.add(self._last)
        if _OWN.search(line.content) is not None:
            self._take_own(line.seq, decode(line.content + b"}"))

    def _take_own(self, seq: int, record: AuditRecord) -> None:
        """Take a record of the gateway about the log itself."""
        if record.action == DELETED:
            self._deletions.take(seq, record)
        elif record.action == HEADS:
            self._take_heads(record.issued.get("heads"))
        elif self._break is None:
            text = f"record {seq} says that the chain before it was not intact: {record.rule}"
            self._break = ChainFinding("broken", seq, text)

    def _take_heads(self, ends: object) -> None:
        """Take what the chain says about the ends of others."""
        for chain, end in ends.items() if isinstance(ends, dict) else ():
            number, last = int(chain), ChainPosition.parse(end).seq
            self._sealed[number] = max(last, self._sealed.get(number, 0))

    def _decide(self, suspicion: _Suspicion, line: Line) -> None:
        """Decide by a later line. The next line decides whether one was inserted."""
        if line.seq == suspicion.seq and (not suspicion.needs_mac or self._continues(line)):
            self._finding = suspicion.other
        elif suspicion.needs_mac:
            self._finding = suspicion.finding

    def _continues(self, line: Line) -> bool:
        return (
            self._last is not None
            and line.chain == self._number
            and self._keys.knows(line.key)
            and self._keys.verifies(line, self._last.mac)
        )

    def _check_head(self, head: Head | None) -> ChainFinding | None:
        last = self._last or START
        if head is None:
            text = "the end of the chain is missing, or no configured key has sealed it"
            return ChainFinding("head", last.seq, text)
        if last.seq < head.last.seq:
            lost = f"the records from {last.seq + 1} to {head.last.seq} at the end were removed"
            return ChainFinding("cut off", last.seq + 1, lost)
        return None


def check_expected(
    results: Collection[VerifiedChain], expected: Collection[ChainPosition]
) -> list[ChainFinding]:
    """Return a finding for each position of an earlier verification that no chain contains."""
    matched = {each for result in results for each in result.matched}
    return [
        ChainFinding(
            "unexpected",
            each.seq,
            f"no chain contains record {each.seq} with the expected MAC: the log was replaced by an "
            "older state or another log, or the record was deleted because of its age",
        )
        for each in expected
        if each not in matched
    ]
