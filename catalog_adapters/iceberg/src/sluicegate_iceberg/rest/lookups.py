"""Finds an Iceberg table's current metadata file with as little work as possible for its catalog.

Source: Iceberg REST specification, `loadTable`: `snapshots`, `ETag` and `If-None-Match`.
"""

from __future__ import annotations

from dataclasses import dataclass

from cachetools import LRUCache

from sluicegate.api import HttpResponse
from sluicegate_iceberg.names import TableName
from sluicegate_iceberg.properties import public
from sluicegate_iceberg.rest.requests import Rest
from sluicegate_iceberg.rest.responses import LoadedTable

_REMEMBERED_TABLES = 10_000
_LONGEST_KEPT = 16_384  # maximum number of cached characters per table
# Only the location of the metadata is needed, not the list of all snapshots, which can be long.
_WITHOUT_HISTORY = "?snapshots=refs"


@dataclass(frozen=True, slots=True)
class _Kept:
    """The last response about a table, without secrets."""

    table_url: str
    asked_url: str
    etag: str | None
    state: str | None
    table: LoadedTable


class Lookups:
    """Loads tables of one catalog without credentials.

    Polaris 1.3 to 1.6 leaves `metadata-location` out of a response from which `snapshots=refs`
    removed snapshots. Such a table is loaded once more, with its history. Afterwards, this response's
    entity tag, or else an unchanged state in responses without history, shows that it is still
    current.
    """

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._kept: LRUCache[TableName, _Kept] = LRUCache(_REMEMBERED_TABLES)

    async def load(self, table: TableName, url: str) -> LoadedTable:
        """Return the catalog's description of a table; `metadata_location` can be missing."""
        kept = self._kept.get(table)
        if kept is not None and kept.table_url == url and kept.etag is not None:
            # The tag is the same with and without credentials, so it is sent only if none are
            # requested.
            answer = await self._rest.get(kept.asked_url, {"If-None-Match": kept.etag})
            if answer.status == 304:
                return kept.table
            asked_url = kept.asked_url
        else:
            asked_url = url + _WITHOUT_HISTORY
            answer = await self._rest.get(asked_url)
        loaded, state = await self._read(asked_url, answer), None
        if loaded.metadata_location is None and asked_url != url:
            state = loaded.metadata.state
            if kept is not None and kept.table_url == url and kept.state == state is not None:
                return kept.table.model_copy(update={"config": loaded.config})
            asked_url, answer = url, await self._rest.get(url)
            loaded = await self._read(url, answer)
        self._keep(table, _Kept(url, asked_url, answer.headers.get("ETag"), state, loaded))
        return loaded

    def forget(self, table: TableName) -> None:
        """Remove a table from the cache, so that it is requested again."""
        self._kept.pop(table, None)

    async def _read(self, url: str, answer: HttpResponse) -> LoadedTable:
        loaded = await self._rest.read(url, answer, LoadedTable)
        return loaded.model_copy(update={"config": public(loaded.config), "storage_credentials": ()})

    def _keep(self, table: TableName, kept: _Kept) -> None:
        length = kept.table.length + len(kept.etag or "") + len(kept.state or "")
        if kept.table.metadata_location is None or length > _LONGEST_KEPT:
            self._kept.pop(table, None)
        elif kept.etag is not None or kept.state is not None:
            self._kept[table] = kept
