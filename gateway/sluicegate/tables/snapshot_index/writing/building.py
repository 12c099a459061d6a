"""Builds the index of a table, and removes what no gateway needs any longer."""

from __future__ import annotations

from dataclasses import dataclass

from sluicegate.api.models import CatalogTable
from sluicegate.tables.snapshot import Snapshot
from sluicegate.tables.snapshot_index.failures import IndexUnusable
from sluicegate.tables.snapshot_index.folder import IndexFolder, table_key
from sluicegate.tables.snapshot_index.index import SnapshotIndex
from sluicegate.tables.snapshot_index.manifest import Manifest
from sluicegate.tables.snapshot_index.writing.writer import write_index


@dataclass(frozen=True, slots=True)
class BuiltIndex:
    """An index in a folder.

    Attributes:
        parts: Number of parts.
        bytes: Bytes of all of its files, except for the manifest.
    """

    manifest: Manifest
    parts: int
    bytes: int


def build_index(folder: IndexFolder, table: CatalogTable, snapshot: Snapshot) -> BuiltIndex:
    """Replace the index of a table. Takes about 40 seconds for each million files.

    Files of the previous index are kept, because gateways use it for up to a minute more. Those of the
    one before are removed. Build one index of a table at a time.

    Raises:
        UnsupportedOperation: The table cannot be indexed.
    """
    key = table_key(table)
    previous = _digests(folder, key)
    write_index(folder, table, snapshot)
    built = described(folder, key)
    folder.remove(key, _digests(folder, key) | previous)
    return built


def described(folder: IndexFolder, key: str) -> BuiltIndex:
    """Describe the index of a table. Blocks.

    Raises:
        IndexUnusable: There is none, or it is damaged.
    """
    index = _opened(folder, key)
    if index is None:
        raise IndexUnusable("it was removed in the meantime")
    files = sum(each.bytes for each in index.manifest.references())
    return BuiltIndex(
        index.manifest, len(index), files + sum(index.summary.column("bytes").to_pylist())
    )


def _digests(folder: IndexFolder, key: str) -> set[str]:
    """Digests of all files of the current index. Empty if it cannot be used."""
    try:
        index = _opened(folder, key)
    except IndexUnusable:
        return set()
    if index is None:
        return set()
    named = {each.digest for each in index.manifest.references()}
    return named | set(index.summary.column("digest").to_pylist())


def _opened(folder: IndexFolder, key: str) -> SnapshotIndex | None:
    manifest = folder.manifest(key)
    return None if manifest is None else SnapshotIndex.open(folder, manifest)
