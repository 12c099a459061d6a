"""The limits of a shared table: history, the first shared version, the shared partitions."""

from __future__ import annotations

from sluicegate.api import InvalidRequest, Principal, SharedTable, UnsupportedOperation
from sluicegate.tables.snapshot import FileSet, Snapshot


def check_history(table: SharedTable, what: str) -> None:
    """Refuse anything but the latest version where history is not shared.

    Raises:
        UnsupportedOperation: The table is shared without history.
    """
    if not table.history:
        raise UnsupportedOperation(
            f"{what} cannot be used on {table.share}.{table.schema}.{table.name}: the table is shared "
            "without its history; query the latest version, or ask the provider to share history"
        )


def check_version(table: SharedTable, version: int) -> None:
    """Refuse versions before the first that is shared.

    Raises:
        InvalidRequest: The version is older than the share's `start_version`.
    """
    if version < table.start_version:
        raise InvalidRequest(
            f"version {version} is not shared: the first shared version of "
            f"{table.share}.{table.schema}.{table.name} is {table.start_version}"
        )


def visible(table: SharedTable, principal: Principal, snapshot: Snapshot) -> FileSet:
    """The files of a snapshot that the share covers for this recipient.

    Raises:
        UnsupportedOperation: The share has a partition filter, which this version cannot apply yet.
    """
    if table.partition_filter is not None:
        raise UnsupportedOperation(
            f"{table.share}.{table.schema}.{table.name} is shared in part, by a partition filter, "
            "which this gateway cannot serve yet"
        )
    return snapshot.files
