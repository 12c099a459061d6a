"""Applies changes to a catalog exactly once, even if responses are lost.

If the outcome of a change is unknown, the table is read. The change is sent again only if the table
does not contain it (docs/adr/0041). Source: Iceberg REST specification, `updateTable`, 409 and 5xx.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Self

import anyio
from pydantic import BeforeValidator, Field

from sluicegate.api import Unavailable
from sluicegate_iceberg.rest.refusal import CommitStateUnknown, Refused
from sluicegate_iceberg.rest.responses import CatalogResponse

# Seconds to wait before the table is read: after a connection is lost, the catalog might still process
# the request.
PAUSES: Final = (0.2, 1.0, 3.0)


async def once(
    change: Callable[[], Awaitable[None]],
    has_landed: Callable[[], Awaitable[bool]],
    pauses: Sequence[float] = PAUSES,
) -> None:
    """Send a change. If this function returns, the change was applied exactly once.

    Args:
        change: Sends the change. The catalog must reject it (409) if it was already applied, or a
            second application must have no effect.
    """
    unknown: CommitStateUnknown | None = None
    for pause in pauses:
        try:
            return await change()
        except CommitStateUnknown as error:
            unknown = error
            await anyio.sleep(pause)
        except Unavailable as error:
            conflict = isinstance(error, Refused) and error.says_conflict
            # The change might conflict with itself: this loop or a proxy might have sent it before.
            if (conflict or unknown) and await _landed(has_landed, unknown or error):
                return None
            raise error if conflict or unknown is None else unknown from error
        if await _landed(has_landed, unknown):
            return None
    raise unknown or AssertionError("no pauses")


async def _landed(has_landed: Callable[[], Awaitable[bool]], otherwise: Unavailable) -> bool:
    try:
        return await has_landed()
    except Unavailable as error:
        raise otherwise from error


def _as_list(value: object) -> object:
    return [] if value is None else value


class _Snapshot(CatalogResponse):
    snapshot_id: int = Field(alias="snapshot-id")


class _Metadata(CatalogResponse):
    table_uuid: str | None = Field(default=None, alias="table-uuid")
    location: str
    snapshots: Annotated[tuple[_Snapshot, ...], BeforeValidator(_as_list)] = ()


class CommittedTable(CatalogResponse):
    """`LoadTableResult`, reduced to the fields that identify applied commits."""

    metadata: _Metadata


@dataclass(frozen=True, slots=True)
class CommitMarks:
    """Properties of a table that show whether a commit was applied to it."""

    snapshots: frozenset[int]
    table_uuid: str | None
    location: str | None

    @classmethod
    def of(cls, updates: Sequence[Mapping[str, Any]]) -> Self:
        """Return the marks of a commit."""
        found = {each["action"]: each for each in updates}
        added = (each["snapshot"] for each in updates if each["action"] == "add-snapshot")
        ids = frozenset(snapshot["snapshot-id"] for snapshot in added)
        uuid = found.get("assign-uuid", {}).get("uuid")
        if not ids and uuid is None:
            raise ValueError(
                "a commit must add a snapshot or assign the UUID of a new table, so that it can be "
                "recognized"
            )
        return cls(ids, uuid, found.get("set-location", {}).get("location"))

    def are_on(self, table: CommittedTable | None) -> bool:
        """Return whether the commit was applied to a table; `None` is a table that doesn't exist.

        For a new table, some catalogs assign another UUID, and others another directory.
        """
        if table is None:
            return False
        if self.snapshots:
            return self.snapshots <= {each.snapshot_id for each in table.metadata.snapshots}
        if table.metadata.table_uuid == self.table_uuid:
            return True
        directory = (self.location or "").rstrip("/")
        return directory != "" and table.metadata.location.rstrip("/") == directory
