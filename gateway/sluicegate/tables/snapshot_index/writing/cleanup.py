"""Removes files of indexes that nothing needs any longer."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.tables.snapshot_index.failures import IndexUnusable
from sluicegate.tables.snapshot_index.folder import IndexFolder, StoredFile
from sluicegate.tables.snapshot_index.index import SnapshotIndex
from sluicegate.tables.snapshot_index.manifest import Manifest

# Milliseconds for which the files of a replaced index are kept. Gateways look for a new index after a
# minute, and another build that began before can keep parts of the previous index.
_REPLACED_FOR = 60 * 60 * 1000
# Milliseconds after which a file that no manifest named was left by a build that was killed.
_BUILT_WITHIN = 24 * 60 * 60 * 1000


def digests(index: SnapshotIndex) -> set[str]:
    """Digests of all files of an index."""
    named = {each.digest for each in index.manifest.references()}
    return named | set(index.summary.column("digest").to_pylist())


def remove_unused(folder: IndexFolder, key: str, now: int) -> int:
    """Remove files of a table's indexes that were replaced more than an hour ago. Blocks.

    Files that no manifest names belong to a build that is running, or that was killed. They are removed
    a day after they were written.

    Args:
        folder: The folder.
        key: The table's key.
        now: Epoch milliseconds.

    Returns:
        The number of removed files, without manifests.

    Raises:
        IndexUnusable: An index that gateways can still use is damaged or cannot be read. Nothing was
            removed.
        StorageError: The folder cannot be read or written to.
    """
    files = folder.files(key)
    copies = sorted((each for each in files if each.built is not None), key=_built)
    replaced = _replaced(copies, now - _REPLACED_FOR)
    needed = _named(folder, folder.manifest(key))
    for each in copies[len(replaced) :]:
        needed |= _named(folder, folder.manifest(key, each.name))
    former: set[str] = set()
    for each in replaced:
        try:
            former |= _named(folder, folder.manifest(key, each.name))
        except IndexUnusable:
            continue  # its files are removed after a day
    unused = [
        each.name
        for each in files
        if each.digest is not None
        and each.digest not in needed
        and each.modified < now - (_REPLACED_FOR if each.digest in former else _BUILT_WITHIN)
    ]
    folder.delete(key, unused)
    folder.delete(key, [each.name for each in replaced])
    return len(unused)


def _replaced(copies: Sequence[StoredFile], before: int) -> Sequence[StoredFile]:
    """The copies of manifests that were replaced before a time, which the next one's time says."""
    return copies[: sum(_built(each) < before for each in copies[1:])]


def _built(copy: StoredFile) -> int:
    return copy.built or 0


def _named(folder: IndexFolder, manifest: Manifest | None) -> set[str]:
    return set() if manifest is None else digests(SnapshotIndex.open(folder, manifest))
