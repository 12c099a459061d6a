"""Snapshots in memory, bounded in bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sluicegate.tables.snapshot import Snapshot


class SnapshotCache:
    """Keeps the snapshots that were used last, as many as fit into `max_bytes`."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._snapshots: OrderedDict[Hashable, tuple[Snapshot, int]] = OrderedDict()
        self._bytes = 0

    @property
    def nbytes(self) -> int:
        """Bytes that the snapshots hold; never more than `max_bytes`."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._snapshots)

    def get(self, key: Hashable) -> Snapshot | None:
        """The snapshot under a key, which now counts as used."""
        entry = self._snapshots.get(key)
        if entry is None:
            return None
        self._snapshots.move_to_end(key)
        return entry[0]

    def put(self, key: Hashable, snapshot: Snapshot) -> None:
        """Keep a snapshot and drop those that were not used for longest; one too large is not kept."""
        self._drop(key)
        size = snapshot.nbytes
        if size > self._max_bytes:
            return
        self._snapshots[key] = (snapshot, size)
        self._bytes += size
        while self._bytes > self._max_bytes:
            self._drop(next(iter(self._snapshots)))

    def _drop(self, key: Hashable) -> None:
        entry = self._snapshots.pop(key, None)
        if entry is not None:
            self._bytes -= entry[1]
