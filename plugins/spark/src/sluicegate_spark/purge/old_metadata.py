"""Finds metadata files that are older than the log of the current one."""

from __future__ import annotations

from dataclasses import dataclass

from sluicegate.api import TaskFailed
from sluicegate_spark.purge.history import History, read_history
from sluicegate_spark.tables import TableAccess


@dataclass(frozen=True, slots=True)
class OldMetadata:
    """All files that preceded the current metadata file of a table.

    Attributes:
        files: Metadata files and statistics, sorted.
        links: Metadata files that are the only reference to others, oldest first. They are deleted
            last, in this order.
    """

    files: tuple[str, ...]
    links: tuple[str, ...]


async def old_metadata(access: TableAccess, history: History) -> OldMetadata:
    """Follow the logs of metadata files backwards; each log covers only the last hundred or so."""
    found = dict.fromkeys((*history.previous, *history.statistics))
    links: list[str] = []
    while history.previous:
        link = history.previous[0]
        older = await _read(access, link)
        if older is None or not {*older.previous, *older.statistics} - found.keys():
            break
        links.append(link)
        found |= dict.fromkeys((*older.previous, *older.statistics))
        history = older
    return OldMetadata(tuple(sorted(found.keys() - set(links))), tuple(reversed(links)))


async def _read(access: TableAccess, link: str) -> History | None:
    """Read an old metadata file. If it is missing or broken, earlier files are unknown."""
    try:
        return await read_history(await access.objects(), link)
    except TaskFailed as failed:
        if failed.retryable:
            raise
        return None
