"""Verifies chains in files: those of a sink, and exports."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import orjson

from sluicegate.api.errors import ConfigurationError
from sluicegate.audit.chain import AFTER, CHAIN, START, ChainKeys, ChainPosition, Head, parse_line
from sluicegate.audit.sinks.files.directory import (
    Segment,
    chain_name,
    first_seq_of,
    lines,
    segments,
    slots,
)
from sluicegate.audit.sinks.files.head_file import read_head
from sluicegate.audit.verification.findings import ChainFinding, VerifiedChain
from sluicegate.audit.verification.verifier import ChainVerifier

# Attempts if the gateway deletes or writes a file meanwhile.
_ATTEMPTS = 3
# Seconds within which the gateway removes the files that it has deleted from the chain.
_REMOVAL = 0.1


def verify_path(
    path: Path,
    keys: ChainKeys,
    expected: Collection[ChainPosition] = (),
    retention: int | None = None,
) -> Iterator[VerifiedChain]:
    """Verify the chains in a directory of a file sink, or an export."""
    try:
        if not path.is_dir():
            yield from _verify_export(path, keys, expected)
            return
        found = slots(path)
        if not found:
            raise ConfigurationError(f"{path} contains no files of an audit log")
        for slot in found:
            yield _Chain(path, slot, keys, expected, retention).verify()
    except OSError as error:
        raise ConfigurationError(f"{path} can't be read: {error.strerror}") from error


class _Chain:
    """A chain in a directory, which its writer can change meanwhile."""

    def __init__(
        self,
        directory: Path,
        slot: int,
        keys: ChainKeys,
        expected: Collection[ChainPosition],
        retention: int | None,
    ) -> None:
        self._directory = directory
        self._slot = slot
        self._keys = keys
        self._expected = expected
        self._retention = retention

    def verify(self) -> VerifiedChain:
        """Verify the files."""
        for attempt in range(_ATTEMPTS):
            head, found = self._head(), segments(self._directory, self._slot)
            leftover = _leftover(found, head)
            if leftover and attempt < _ATTEMPTS - 1:
                time.sleep(_REMOVAL)
                continue
            try:
                result = self._verify(head, found[len(leftover) :], leftover)
            except FileNotFoundError:  # deleted because of its age
                if attempt == _ATTEMPTS - 1:
                    raise
                continue
            if result.finding is None or self._head() == head:
                break
        return result

    def _head(self) -> Head | None:
        return read_head(self._directory, self._slot, self._keys)

    def _verify(
        self, head: Head | None, found: Sequence[Segment], leftover: Sequence[Segment]
    ) -> VerifiedChain:
        after = head.checkpoint if head is not None else _before(found[0].first_seq if found else 1)
        verifier = ChainVerifier(
            chain_name(self._slot), self._keys, after, self._expected, self._retention
        )
        for segment in found:
            is_last = segment == found[-1]
            for _, line in lines(segment.path):
                if line.endswith(b"\n") or not is_last:  # otherwise, it is being written
                    verifier.feed(line.rstrip(b"\n"))
            if not _is_named_by_content(segment, verifier.last, is_last=is_last):
                text = f"the name of the file {segment.path.name} differs from its records"
                verifier.mislabelled(segment.first_seq, text)
        for segment in leftover:
            verifier.mislabelled(segment.first_seq, _deleted_already(segment))
        return verifier.finish(head)


def _leftover(found: Sequence[Segment], head: Head | None) -> Sequence[Segment]:
    """The files whose names say that they were deleted from the chain."""
    return [each for each in found if head is not None and each.first_seq <= head.checkpoint.seq]


def _deleted_already(segment: Segment) -> str:
    return (
        f"the file {segment.path.name} contains records that were deleted; if the gateway stopped "
        "during a deletion, its next start removes the file"
    )


def _is_named_by_content(segment: Segment, last: ChainPosition | None, *, is_last: bool) -> bool:
    """Whether a file has the name of its first record, or of the next one if it has none yet."""
    first_seq = first_seq_of(segment.path)
    if first_seq is None and is_last:
        return last is None or segment.first_seq == last.seq + 1
    return first_seq == segment.first_seq


def _before(first_seq: int) -> ChainPosition | None:
    return START if first_seq == 1 else None


def _verify_export(
    path: Path, keys: ChainKeys, expected: Collection[ChainPosition]
) -> Iterator[VerifiedChain]:
    """Verify the chains of an export, each line by the verifier of its chain."""
    verifiers: dict[int, ChainVerifier] = {}
    for _, raw in lines(path):
        line = raw.rstrip(b"\n")
        number, after = _stated_start(line) or (_number_of(line), None)
        is_known = number in verifiers
        if not is_known:
            name = f"{path.name} {number}" if number else path.name
            start = START if line.startswith(b'{"seq":1,') else after
            verifiers[number] = ChainVerifier(name, keys, start, expected, number=number)
        if is_known or after is None:
            verifiers[number].feed(line)
    if not verifiers:
        empty = ChainFinding("unreadable", 0, "the file is empty")
        yield VerifiedChain(path.name, 0, 0, START, empty)
    for verifier in verifiers.values():
        yield verifier.finish(None, has_head=False)


def _number_of(line: bytes) -> int:
    """The chain of a line, or of the chain without a number, which reports what isn't a line."""
    try:
        return parse_line(line).chain
    except ValueError:
        return 0


def _stated_start(line: bytes) -> tuple[int, ChainPosition] | None:
    """The chain and the position in a line before the records of this chain."""
    try:
        stated = orjson.loads(line)
        if {*stated} - {CHAIN} != {AFTER}:
            return None
        return int(stated.get(CHAIN, 0)), ChainPosition.parse(stated[AFTER])
    except (ValueError, TypeError, AttributeError):
        return None
