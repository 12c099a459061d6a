"""Reads what the Delta API adds to a table: ratified commits, and Iceberg metadata.

Sources: Unity Catalog API, `delta.yaml`; Delta protocol, "Catalog-managed tables".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sluicegate.api import CatalogCommit
from sluicegate_unity.client import Question, UnityClient
from sluicegate_unity.locations import location_of, same_directory
from sluicegate_unity.responses import Refused
from sluicegate_unity.tables import UnityTable

# The second is the feature's name during its preview.
_FEATURES: Final = ("delta.feature.catalogManaged", "delta.feature.catalogOwned-preview")
_FILE_NAME: Final = re.compile(r"[0-9A-Za-z_-][0-9A-Za-z._-]*\.json")
_PREVIEW: Final = "/delta/preview/commits"
_MOST_PAGES: Final = 1000
_MOST_COMMITS: Final = 100_000
_LAST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Ratified:
    """The catalog's state of a table's log; empty if only the log itself is relevant."""

    commits: tuple[CatalogCommit, ...] = ()
    latest_version: int | None = None
    iceberg_metadata: str | None = None


async def ratified(client: UnityClient, table: UnityTable) -> Ratified:
    """Request the commits of a managed table, and the Iceberg metadata of a UniForm table."""
    try:
        answer = await client.get(table.name.delta_path)
    except Refused as refused:
        if not refused.has_no_route:
            raise
        return await _by_preview(client, table) if table.managed else Ratified()
    metadata = answer.get("metadata")
    if not isinstance(metadata, dict):
        raise ValueError("the Delta API returned no metadata")
    _check_same(table, metadata)
    iceberg = _iceberg_metadata(answer.get("uniform"))
    if not _catalog_managed(metadata.get("properties")):
        return Ratified(iceberg_metadata=iceberg)
    commits = _commits(answer.get("commits"), "-")
    return Ratified(commits, _whole(answer.get("latest-table-version"), "latest version"), iceberg)


def _iceberg_metadata(uniform: object) -> str | None:
    iceberg = uniform.get("iceberg") if isinstance(uniform, dict) else None
    location = iceberg.get("metadata-location") if isinstance(iceberg, dict) else None
    if location is None:
        return None
    try:
        return location_of(str(location))
    except ValueError as error:
        raise ValueError(f"the Iceberg metadata {str(location)[:1000]!r}: {error}") from error


async def _by_preview(client: UnityClient, table: UnityTable) -> Ratified:
    """Request the same from servers of version 0.4, one page of commits at a time."""
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
    raise ValueError("the list of commits never ends")


def _check_same(table: UnityTable, metadata: Mapping[str, Any]) -> None:
    """Ensure that both responses refer to one table, which could have been replaced in between."""
    if metadata.get("table-uuid") != table.id:
        raise ValueError("the table was replaced during the lookup")
    if not same_directory(location_of(str(metadata.get("location"))), table.location):
        raise ValueError("the Delta API returned another location")


def _catalog_managed(properties: object) -> bool:
    return isinstance(properties, dict) and any(
        properties.get(feature) == "supported" for feature in _FEATURES
    )


def _commits(entries: object, separator: str) -> tuple[CatalogCommit, ...]:
    """Return commits in ascending order; `separator` joins the words of their keys."""
    if entries is None:
        return ()
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError("the commits are not a list of commits")
    if len(entries) > _MOST_COMMITS:
        raise ValueError("there are more unpublished commits than a table can have")
    return tuple(sorted(_each(entries, separator), key=lambda commit: commit.version))


def _each(entries: Iterable[Mapping[str, Any]], separator: str) -> Iterable[CatalogCommit]:
    for entry in entries:
        name = entry.get(f"file{separator}name")
        if not isinstance(name, str) or not _FILE_NAME.fullmatch(name):
            raise ValueError("a commit's file has an invalid name")
        yield CatalogCommit(
            version=_whole(entry.get("version"), "version"),
            timestamp=_whole(entry.get("timestamp"), "timestamp"),
            file_name=name,
            size=_whole(entry.get(f"file{separator}size"), "size"),
        )


def _whole(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LAST:
        raise ValueError(f"a commit's {what} is not a number")
    return value
