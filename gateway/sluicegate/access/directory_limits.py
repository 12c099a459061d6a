"""What keeps a table from being shared by directory access, whatever its storage can do."""

from __future__ import annotations

from typing import Protocol


class _Limits(Protocol):
    """A shared table, declared or stored."""

    @property
    def start_version(self) -> int: ...

    @property
    def partition_filter(self) -> str | None: ...


def directory_obstacle(table: _Limits) -> str | None:
    """The limit of a table that access mode `dir` would undo; `None` where there is none.

    Credentials for a directory open every file in it: all partitions, all columns, the whole log with
    what it says about its writers, the files of older versions and of change feeds that were not
    vacuumed yet, and files that no version names. A filter or a first version could not be kept. That
    `history` is off is no such promise: it says what the gateway answers, and whoever lists `dir` says
    that the directory may be read.
    """
    if table.partition_filter is not None:
        return "a partition_filter cannot be kept with access mode dir, which opens all files"
    if table.start_version > 0:
        return "a start_version cannot be kept with access mode dir, which opens older versions too"
    return None
