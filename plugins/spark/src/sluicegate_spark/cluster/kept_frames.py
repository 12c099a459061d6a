"""Keeps intermediate results on a cluster until a task no longer needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class KeptFrames:
    """Persisted frames. All methods are called in a thread of Spark's session."""

    def __init__(self) -> None:
        self._frames: list[DataFrame] = []

    def keep(self, frame: DataFrame, *, in_memory: bool = False) -> DataFrame:
        """Compute a frame only once."""
        from pyspark.storagelevel import StorageLevel

        level = StorageLevel.MEMORY_AND_DISK_DESER if in_memory else StorageLevel.DISK_ONLY
        kept = frame.persist(level)
        self._frames.append(kept)
        return kept

    def drop(self) -> None:
        """Release all frames."""
        while self._frames:
            self._frames.pop().unpersist()
