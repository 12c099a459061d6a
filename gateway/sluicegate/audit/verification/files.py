"""Verifies chains in files: those of a sink, and exports."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import orjson

from sluicegate.api.errors import ConfigurationError
from sluicegate.audit.chain import AFTER, START, ChainKeys, ChainPosition, Head
from sluicegate.audit.sinks.files.directory import chain_name, lines, segments, slots
from sluicegate.audit.sinks.files.head_file import read_head
from sluicegate.audit.verification.findings import ChainFinding, VerifiedChain
from sluicegate.audit.verification.verifier import ChainVerifier

# Attempts if the gateway deletes or writes a file meanwhile.
_ATTEMPTS = 3


def verify_path(
    path: Path, keys: ChainKeys, expected: Collection[ChainPosition] = ()
) -> Iterator[VerifiedChain]:
    """Verify the chains in a directory of a file sink, or an export.

    Args:
        path: The directory, or a file.
        keys: The keys of the chains.
        expected: Positions that earlier verifications returned.

    Raises:
        ConfigurationError: The path can't be read, or contains no chain.
    """
    try:
        if not path.is_dir():
            yield _verify_export(path, keys, expected)
            return
        found = slots(path)
        if not found:
            raise ConfigurationError(f"{path} contains no files of an audit log")
        for slot in found:
            yield _verify_slot(path, slot, keys, expected)
    except OSError as error:
        raise ConfigurationError(f"{path} can't be read: {error.strerror}") from error


def _verify_slot(
    directory: Path, slot: int, keys: ChainKeys, expected: Collection[ChainPosition]
) -> VerifiedChain:
    for attempt in range(_ATTEMPTS):
        head = read_head(directory, slot, keys)
        try:
            result = _verify_segments(directory, slot, keys, head, expected)
        except FileNotFoundError:  # deleted because of its age
            if attempt == _ATTEMPTS - 1:
                raise
            continue
        if result.finding is None or read_head(directory, slot, keys) == head:
            break
    return result


def _verify_segments(
    directory: Path, slot: int, keys: ChainKeys, head: Head | None, expected: Collection[ChainPosition]
) -> VerifiedChain:
    verifier: ChainVerifier | None = None
    checkpoint = START if head is None else head.checkpoint
    found = segments(directory, slot)
    for segment in found:
        if segment.first_seq <= checkpoint.seq:
            continue  # the gateway stopped while it deleted this file
        if verifier is None:
            after = head.checkpoint if head is not None else _before(segment.first_seq)
            verifier = ChainVerifier(chain_name(slot), keys, after, expected)
        for _, line in lines(segment.path):
            if line.endswith(b"\n") or segment != found[-1]:  # otherwise, it is being written
                verifier.feed(line.rstrip(b"\n"))
    if verifier is None:
        verifier = ChainVerifier(chain_name(slot), keys, checkpoint, expected)
    return verifier.finish(head)


def _before(first_seq: int) -> ChainPosition | None:
    return START if first_seq == 1 else None


def _verify_export(path: Path, keys: ChainKeys, expected: Collection[ChainPosition]) -> VerifiedChain:
    verifier: ChainVerifier | None = None
    for _, raw in lines(path):
        line = raw.rstrip(b"\n")
        if verifier is None:
            after = _stated_start(line)
            is_first = line.startswith(b'{"seq":1,')
            verifier = ChainVerifier(path.name, keys, START if is_first else after, expected)
            if after is not None:
                continue
        verifier.feed(line)
    if verifier is None:
        empty = ChainFinding("unreadable", 0, "the file is empty")
        return VerifiedChain(path.name, 0, 0, START, empty)
    return verifier.finish(None, has_head=False)


def _stated_start(line: bytes) -> ChainPosition | None:
    try:
        stated = orjson.loads(line)
        return ChainPosition.parse(stated[AFTER]) if [*stated] == [AFTER] else None
    except (ValueError, TypeError, AttributeError):
        return None
