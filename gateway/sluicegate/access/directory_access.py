"""Checks whether the limits of a shared table allow directory access."""

from __future__ import annotations

from typing import Protocol

from sluicegate.api import SharedTable


class _Limits(Protocol):
    """Options of a shared table, declared or stored."""

    @property
    def start_version(self) -> int: ...

    @property
    def partition_filter(self) -> str | None: ...


def directory_obstacle(table: SharedTable) -> str | None:
    """Describe the limit of a table that access mode `dir` can't enforce, or return `None`.

    Credentials for a directory grant access to every file in it: all partitions and columns, the entire
    log with details about its writers, files of older versions and change feeds that are not vacuumed
    yet, and files that belong to no version. A filter or a first version can't be enforced. `history`
    is not such a limit: it configures the responses of the gateway, and `dir` in `access_modes` allows
    reading the directory.
    """
    return ref_obstacle(table.ref) or options_obstacle(table)


def ref_obstacle(ref: str | None) -> str | None:
    """See `directory_obstacle`: the branch or tag that is shared."""
    if ref is not None:
        return "a ref cannot be enforced with access mode dir, which exposes all branches and tags"
    return None


def options_obstacle(table: _Limits) -> str | None:
    """See `directory_obstacle`: the options that entire schemas can have, too."""
    if table.partition_filter is not None:
        return "a partition_filter cannot be enforced with access mode dir, which exposes all files"
    if table.start_version > 0:
        return "a start_version cannot be enforced with access mode dir, which exposes older versions"
    return None
