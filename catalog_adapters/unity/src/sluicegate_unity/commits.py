"""Catalog-managed tables: the commits that the catalog has ratified.

Sources: Unity Catalog's Delta API; Delta protocol, "Catalog-managed tables".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sluicegate.api import CatalogCommit
from sluicegate_unity.answers import Refused
from sluicegate_unity.client import Question, UnityClient
from sluicegate_unity.locations import location_of, same_directory
from sluicegate_unity.tables import UnityTable

# The second is what the feature was called while it was a preview.
_FEATURES: Final = ("delta.feature.catalogManaged", "delta.feature.catalogOwned-preview")
_FILE_NAME: Final = re.compile(r"[0-9A-Za-z_-][0-9A-Za-z._-]*\.json")
_PREVIEW: Final = "/delta/preview/commits"
_MOST_PAGES: Final = 1000
_MOST_COMMITS: Final = 100_000
_LAST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Ratified:
    """What the catalog says of a table's log; nothing where the log alone counts.

    Attributes:
        commits: Those that are not published yet, maybe some that are; ascending.
        latest_version: Nothing above it counts.
    """

    commits: tuple[CatalogCommit, ...] = ()
    latest_version: int | None = None


async def ratified(client: UnityClient, table: UnityTable) -> Ratified:
    """Ask for the commits of a managed table.

    Raises:
        Refused: The catalog answers with an error.
        Unavailable: It does not answer.
        ValueError: What it answers cannot be used.
    """
    try:
        answer = await client.get(table.name.delta_path)
    except Refused as refused:
        if not refused.has_no_route:
            raise
        return await _by_preview(client, table)
    metadata = answer.get("metadata")
    if not isinstance(metadata, dict):
        raise ValueError("the Delta API answers no metadata")
    _check_same(table, metadata)
    if not _catalog_managed(metadata.get("properties")):
        return Ratified()
    commits = _commits(answer.get("commits"), "-")
    return Ratified(commits, _whole(answer.get("latest-table-version"), "latest version"))


async def _by_preview(client: UnityClient, table: UnityTable) -> Ratified:
    """The same from servers of version 0.4, a page of commits at a time."""
    if not _catalog_managed(table.properties):
        return Ratified()
    commits: dict[int, CatalogCommit] = {}
    start = 0
    for _ in range(_MOST_PAGES):
        wanted = {"table_id": table.id, "table_uri": table.uri, "start_version": start}
        answer = await client.ask(Question("GET", _PREVIEW, body=wanted))
        latest = _whole(answer.get("latest_table_version"), "latest version")
        page = [each for each in _commits(answer.get("commits"), "_") if each.version >= start]
        commits.update((each.version, each) for each in page)
        if len(commits) > _MOST_COMMITS:
            break
        start = max((each.version for each in page), default=latest) + 1
        if start > latest:
            return Ratified(tuple(commits[version] for version in sorted(commits)), latest)
    raise ValueError("the commits have no end")


def _check_same(table: UnityTable, metadata: Mapping[str, Any]) -> None:
    """Both answers must be about one table: it could have been created anew between them."""
    if metadata.get("table-uuid") != table.id:
        raise ValueError("the table was replaced while it was looked up")
    if not same_directory(location_of(str(metadata.get("location"))), table.location):
        raise ValueError("the Delta API names another location")


def _catalog_managed(properties: object) -> bool:
    return isinstance(properties, dict) and any(
        properties.get(feature) == "supported" for feature in _FEATURES
    )


def _commits(entries: object, separator: str) -> tuple[CatalogCommit, ...]:
    """Commits in ascending order; `separator` joins the words of their keys."""
    if entries is None:
        return ()
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError("the commits are no list of commits")
    if len(entries) > _MOST_COMMITS:
        raise ValueError("there are more commits than any table has unpublished")
    return tuple(sorted(_each(entries, separator), key=lambda commit: commit.version))


def _each(entries: Iterable[Mapping[str, Any]], separator: str) -> Iterable[CatalogCommit]:
    for entry in entries:
        name = entry.get(f"file{separator}name")
        if not isinstance(name, str) or not _FILE_NAME.fullmatch(name):
            raise ValueError("a commit's file has no name that may be read")
        yield CatalogCommit(
            version=_whole(entry.get("version"), "version"),
            timestamp=_whole(entry.get("timestamp"), "timestamp"),
            file_name=name,
            size=_whole(entry.get(f"file{separator}size"), "size"),
        )


def _whole(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LAST:
        raise ValueError(f"a commit's {what} is no number")
    return value
