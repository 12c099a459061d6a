"""Finds records in the database and in files, newest first."""

from __future__ import annotations

import heapq
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sluicegate.api.errors import ConfigurationError
from sluicegate.audit.chain import ChainKeys
from sluicegate.audit.index import AbsenceCheck
from sluicegate.audit.reading.chain_reader import NOWHERE, ChainReader, Limits
from sluicegate.audit.reading.query import AuditQuery, StoredRecord, select_lines
from sluicegate.audit.reading.ranges import lines_of
from sluicegate.audit.reading.skipping import required_names
from sluicegate.audit.sinks.database.reading import chain_numbers, pages_before
from sluicegate.audit.sinks.files.directory import lines, segments, slots
from sluicegate.database import Store

Before = Mapping[int, int]
"""Where a search continues: by number of a chain, records with smaller numbers than this."""

_PLACE = re.compile(r"[0-9]{1,9}-[0-9]{1,18}(?:\.[0-9]{1,9}-[0-9]{1,18})*")


@dataclass(frozen=True, slots=True)
class RecordsPage:
    """A page of a search.

    Attributes:
        before: Where the next page starts; `None` for no more.
    """

    records: list[StoredRecord]
    before: Before | None


async def search(
    store: Store, keys: ChainKeys, query: AuditQuery, before: Before | None = None
) -> AsyncIterator[StoredRecord]:
    """The selected records of all chains, newest first."""
    merged = await _Merged.of(store, keys, query, before or {}, Limits(None, None))
    while (found := await merged.next()) is not None:
        yield found


async def search_page(
    store: Store,
    keys: ChainKeys,
    query: AuditQuery,
    *,
    limit: int,
    before: Before | None,
    max_blocks: int,
) -> RecordsPage:
    """Return one page of a search."""
    limits = Limits(limit + 1, max_blocks)
    merged = await _Merged.of(store, keys, query, before or {}, limits)
    records: list[StoredRecord] = []
    while len(records) < limit and (found := await merged.next()) is not None:
        records.append(found)
    return RecordsPage(records, merged.position)


async def find_record(store: Store, query: AuditQuery, chain: int, seq: int) -> StoredRecord | None:
    """Return the record at a place, if the query selects it."""
    async for page in pages_before(store, chain, seq + 1):
        found = (each for block in page for each in select_lines(lines_of(block), query))
        return next((each for each in found if each.seq == seq), None)
    return None


def place_text(before: Before) -> str:
    """A place where a search continues, as text without special characters."""
    return ".".join(f"{chain}-{seq}" for chain, seq in before.items())


def parse_place(text: str) -> Before | None:
    """The place in a text, or `None` if it is none."""
    if not _PLACE.fullmatch(text):
        return None
    pairs = (each.split("-") for each in text.split("."))
    return {int(chain): int(seq) for chain, seq in pairs}


def search_files(directory: Path, query: AuditQuery, *, limit: int) -> list[StoredRecord]:
    """Return the newest selected records in the chains of a directory, newest first."""
    try:
        found = _in_directory(directory, query)
        return heapq.nlargest(limit, found, key=lambda each: (each.record.at, each.seq))
    except OSError as error:
        raise ConfigurationError(f"{directory} can't be read: {error.strerror}") from error


def _in_directory(directory: Path, query: AuditQuery) -> Iterator[StoredRecord]:
    paths = [each.path for slot in slots(directory) for each in segments(directory, slot)]
    for path in paths:
        yield from select_lines((line for _, line in lines(path)), query)


class _Merged:
    """Merges chains in order of time.

    It reads on in the chain that it has read least far into the past, so that no newer record can
    follow, whether or not the chains contain selected records.
    """

    def __init__(self, readers: Sequence[ChainReader], ended: Before) -> None:
        self._readers = readers
        self._ended = ended

    @classmethod
    async def of(
        cls, store: Store, keys: ChainKeys, query: AuditQuery, before: Before, limits: Limits
    ) -> _Merged:
        """All chains, from the places on that a search has reached."""
        names = required_names(query)
        check = AbsenceCheck(keys, names) if names else None
        ended = {chain: seq for chain, seq in before.items() if seq == NOWHERE}
        numbers = [each for each in await chain_numbers(store) if each not in ended]
        readers = [ChainReader(store, each, query, before.get(each), limits, check) for each in numbers]
        return cls(readers, ended)

    async def next(self) -> StoredRecord | None:
        """Return the next record, or `None` if there is no more, or no more may be read."""
        while True:
            least = max(self._readers, key=lambda each: each.read_until, default=None)
            newest = max(self._readers, key=lambda each: each.newest, default=None)
            if least is None or newest is None:
                return None
            if newest.found and newest.newest >= least.read_until:
                return newest.found.popleft()
            if least.is_done or not await least.read():
                return None

    @property
    def position(self) -> Before | None:
        """Where to continue; `None` if nothing is left."""
        if all(each.is_done and not each.found for each in self._readers):
            return None
        reached = {each.chain: each.position for each in self._readers if each.position is not None}
        return {**self._ended, **reached}
