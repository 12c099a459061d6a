"""Leaves out ranges of a chain that contain no selected record, as the index says.

A row of the index only counts if a key has sealed it, so that a search reads the records of all other
ranges.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import anyio.to_thread

from sluicegate.audit.index import AbsenceCheck, Name, levels
from sluicegate.audit.reading.query import AuditQuery
from sluicegate.audit.sinks.database.index_rows import rows_before
from sluicegate.database import Store
from sluicegate.database.names import name_key

# Rows that are read together: first few, because records are often found in what is not indexed yet.
_FIRST_PAGE = 16
_PAGE = 512


@dataclass(frozen=True, slots=True)
class ChainPart:
    """A part of a chain that can contain selected records.

    Attributes:
        first: The first number; `None` for the start of the chain.
        before: The number after the last one; `None` for the end of the chain.
    """

    first: int | None
    before: int | None
    rows: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether it contains nothing: authentic rows leave out everything down to this place."""
        return self.first is not None and self.first == self.before


def required_names(query: AuditQuery) -> list[Name]:
    """The names that each selected record has."""
    names: list[tuple[str, str | None]] = [
        ("request", query.request_id),
        ("address", query.address),
        ("recipient", None if query.recipient is None else name_key(query.recipient)),
        ("admin", None if query.admin is None else name_key(query.admin)),
        ("share", None if query.share is None else name_key(query.share)),
        ("resource", None if query.resource is None else levels(query.resource)[-1]),
    ]
    return [(kind, name) for kind, name in names if name is not None]


async def parts(
    store: Store, chain: int, before: int | None, check: AbsenceCheck | None
) -> AsyncIterator[ChainPart]:
    """The parts of a chain that can contain selected records, newest first."""
    end, start, size, rows = before, before, _FIRST_PAGE, 0
    while check is not None:
        page = await rows_before(store, chain, start, size)
        rows = len(page)
        for absent in await anyio.to_thread.run_sync(check.absent, page):
            if end is None or absent.last_seq + 1 < end:
                yield ChainPart(absent.last_seq + 1, end, rows)
                rows = 0
            end = absent.first_seq
        if len(page) < size:
            break
        start, size = page[-1].first_seq, min(4 * size, _PAGE)
        yield ChainPart(start, end, rows)
        end, rows = start, 0
    yield ChainPart(None, end, rows)
