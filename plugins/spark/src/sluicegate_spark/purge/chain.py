"""Metadata files that are older than the current one's log tells."""

from __future__ import annotations

from dataclasses import dataclass

from sluicegate.api import TaskFailed
from sluicegate_spark.purge.history import History, read_history
from sluicegate_spark.tables import TableAccess


@dataclass(frozen=True, slots=True)
class OldMetadata:
    """All that a table had before its current metadata file.

    Attributes:
        files: Metadata files and statistics, sorted.
        links: Metadata files that alone lead to others, the oldest first; they go last, in this order.
    """

    files: tuple[str, ...]
    links: tuple[str, ...]


async def old_metadata(access: TableAccess, history: History) -> OldMetadata:
    """Follow the logs of metadata files back, as each holds only the last hundred or so.

    Raises:
        TaskFailed: A store refuses to give one.
    """
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
    """An old metadata file; where it is missing or broken, nobody knows what was before."""
    try:
        return await read_history(await access.objects(), link)
    except TaskFailed as failed:
        if failed.retryable:
            raise
        return None
