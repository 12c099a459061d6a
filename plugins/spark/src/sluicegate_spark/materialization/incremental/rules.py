"""Decides how a refresh can read what changed in a source, or that it has to rebuild the copy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from sluicegate_spark.materialization.copy_state import Base

MAX_REFRESHES: Final = 50
"""Each incremental refresh adds small files. After so many, the copy is rebuilt."""
MAX_COMMITS: Final = 1_000
MAX_FILES: Final = 10_000
"""The driver handles added files one by one. The change data feed has no such limit."""
# Changes of more than a quarter of the source cost more than a pass over the source, because also the
# copy is read. Sources of a few files are read in seconds, whatever their changes are.
_LARGE_PART: Final = 4
_SMALL: Final = 64 * 1024 * 1024

WayOfDelta = Literal["nothing", "feed", "files"]
WayOfIceberg = Literal["nothing", "appends", "changelog"]


class RebuildRequired(Exception):
    """A refresh can't apply changes alone. The message says why."""


@dataclass(frozen=True, slots=True)
class DeltaCommit:
    """What a commit of a Delta table does.

    Attributes:
        changed_bytes: Size of the files from which its changes are read.
    """

    version: int
    operation: str
    digest: str
    added: int
    removed: int
    changed_bytes: int
    changes_table: bool
    leads_elsewhere: bool


@dataclass(frozen=True, slots=True)
class IcebergSnapshot:
    """What a snapshot of an Iceberg table does.

    Attributes:
        changed_bytes: Size of the files that it adds or removes.
        table_bytes: Size of all files.
    """

    id: int
    parent: int | None
    operation: str
    changed_bytes: int
    table_bytes: int
    has_deletes: bool


def continued(base: Base | None, basis: str) -> Base:
    """Return where a refresh begins."""
    if base is None:
        raise RebuildRequired(
            "the last refresh recorded no version of the source, or someone else changed the copy"
        )
    if base.basis != basis:
        raise RebuildRequired(
            "the configuration, the key, or the columns of the source changed, or it is another table"
        )
    if base.refreshes >= MAX_REFRESHES:
        raise RebuildRequired(f"it had {base.refreshes} incremental refreshes, and so many small files")
    return base


def way_of_delta(
    commits: Sequence[DeltaCommit], base: Base, table_bytes: int, *, has_feed: bool
) -> WayOfDelta:
    """Return how to read the changes of a Delta table."""
    first, *later = commits
    if first.digest != base.commit:
        raise RebuildRequired(f"version {base.version} of the source is not the one that was copied")
    for each in later:
        if each.changes_table:
            raise RebuildRequired(
                f"version {each.version} changed the source's columns, properties, or protocol"
            )
        if each.operation == "RESTORE":
            raise RebuildRequired(f"version {each.version} restored an earlier version of the source")
        if each.leads_elsewhere:
            raise RebuildRequired(
                f"version {each.version} names files outside of the source's directory"
            )
    changing = [each for each in later if each.added or each.removed]
    if not changing:
        return "nothing"
    _check_size(sum(each.changed_bytes for each in changing), table_bytes)
    if has_feed:
        return "feed"
    removing = next((each.version for each in changing if each.removed), None)
    if removing is not None:
        raise RebuildRequired(
            f"version {removing} deleted or updated rows, and the source has no change data feed"
        )
    if sum(each.added for each in changing) > MAX_FILES:
        raise RebuildRequired(
            f"more than {MAX_FILES:,} files were added, and the source has no change data feed"
        )
    return "files"


def way_of_iceberg(snapshots: Mapping[int, IcebergSnapshot], start: int, end: int) -> WayOfIceberg:
    """Return how to read the changes of an Iceberg table between two snapshots."""
    changing = [each for each in _after(snapshots, start, end) if each.operation != "replace"]
    if not changing:
        return "nothing"
    _check_size(sum(each.changed_bytes for each in changing), snapshots[end].table_bytes)
    if all(each.operation == "append" for each in changing):
        return "appends"
    # Iceberg's changelog doesn't apply delete files, and Iceberg refuses it for such snapshots.
    if any(each.has_deletes for each in (snapshots[start], *_after(snapshots, start, end))):
        raise RebuildRequired(
            "rows were deleted or updated, and the source has delete files, which Iceberg's changelog "
            "does not support"
        )
    return "changelog"


def _after(snapshots: Mapping[int, IcebergSnapshot], start: int, end: int) -> Iterator[IcebergSnapshot]:
    """Yield the snapshots after `start` up to `end`, the last one first."""
    number: int | None = end
    for _ in range(MAX_COMMITS):
        if number == start and start in snapshots:
            return
        if number is None or number not in snapshots:
            raise RebuildRequired("the copied snapshot of the source has expired, or was rolled back")
        yield snapshots[number]
        number = snapshots[number].parent
    raise RebuildRequired(f"the source has more than {MAX_COMMITS:,} new snapshots")


def _check_size(changed: int, table: int) -> None:
    if changed > max(_SMALL, table // _LARGE_PART):
        raise RebuildRequired(
            f"the files with its changes have {changed:,} bytes, more than a quarter of the source's"
        )
