"""The limits of a shared table: history, the first shared version, the shared partitions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, overload

import anyio.to_thread

from sluicegate.access.partition_filter import (
    RECIPIENT_FILTER,
    PartitionFilter,
    PartitionTerm,
    RecipientProperty,
    filter_required,
)
from sluicegate.api import (
    InvalidRequest,
    PermissionDenied,
    Principal,
    SharedTable,
    UnsupportedOperation,
)
from sluicegate.audit.trail import PARTITION_FILTER
from sluicegate.tables.canonical_partitions import canonical_partitions, canonical_value
from sluicegate.tables.declaration import IcebergDeclaration
from sluicegate.tables.iceberg.identity import identity_column
from sluicegate.tables.partitions import (
    PartitionValues,
    in_partitions,
    partition_count,
    partition_key,
)
from sluicegate.tables.snapshot import FileSet, TableMetadata

if TYPE_CHECKING:
    from sluicegate.tables.snapshot_index.files import IndexedFiles

# Each takes about 1 µs. A table can have as many partitions as files.
_FEW_PARTITIONS = 1_000


def check_history(table: SharedTable, what: str) -> None:
    """Reject anything but the latest version if history is not shared."""
    if not table.history:
        raise UnsupportedOperation(
            f"{what} cannot be used on {table.full_name}: the table is shared "
            "without its history; query the latest version, or ask the provider to share history"
        ).decided_by("history")


def check_change_feed(table: SharedTable) -> None:
    """Reject change data feeds if they are not shared."""
    if not table.change_feed:
        raise UnsupportedOperation(
            f"the change data feed of {table.full_name} is not shared: ask the provider to share it"
        ).decided_by("change feed")


def check_version(table: SharedTable, version: int) -> None:
    """Reject versions before the first shared version."""
    if version < table.start_version:
        raise InvalidRequest(
            f"version {version} is not shared: the first shared version of "
            f"{table.full_name} is {table.start_version}"
        ).decided_by("start version")


@overload
async def visible(
    table: SharedTable, principal: Principal, metadata: TableMetadata, files: FileSet
) -> FileSet: ...


@overload
async def visible(
    table: SharedTable, principal: Principal, metadata: TableMetadata, files: IndexedFiles
) -> IndexedFiles: ...


async def visible(
    table: SharedTable,
    principal: Principal,
    metadata: TableMetadata,
    files: FileSet | IndexedFiles,
) -> FileSet | IndexedFiles:
    """The table's files that are shared with this recipient; raises as `shared_partitions` does."""
    wanted = shared_partitions(table, principal, metadata)
    if wanted is None:
        return files
    if isinstance(files, FileSet):
        if partition_count(files) <= _FEW_PARTITIONS:
            return in_partitions(files, wanted)
        return await anyio.to_thread.run_sync(in_partitions, files, wanted)
    if files.partition_count <= _FEW_PARTITIONS:
        return files.in_partitions(wanted)
    return await anyio.to_thread.run_sync(files.in_partitions, wanted)


def shared_partitions(
    table: SharedTable, principal: Principal, metadata: TableMetadata
) -> Callable[[PartitionValues], bool] | None:
    """A condition for the partitions that are shared with this recipient. `None` if all are."""
    terms = _terms(table.partition_filter)
    _check_required(table, metadata, terms)
    if not terms:
        return None
    if metadata.iceberg is None:
        tests = [_value_test(table, principal, metadata, term) for term in terms]
    else:
        tests = [_identity_test(table, principal, metadata.iceberg, term) for term in terms]
    return lambda values: all(test(values) for test in tests)


def _terms(text: str | None) -> tuple[PartitionTerm, ...]:
    return () if text is None else PartitionFilter.parse(text).terms


def _check_required(
    table: SharedTable, metadata: TableMetadata, terms: tuple[PartitionTerm, ...]
) -> None:
    """Ensure that a table with rows of several recipients is shared with the filter that it names."""
    required = metadata.configuration.get(RECIPIENT_FILTER)
    if required is None:
        return
    try:
        missing = {*map(_folded, _terms(required))} - {*map(_folded, terms)}
    except ValueError:
        raise filter_required(table, f"its property {RECIPIENT_FILTER} is not a filter") from None
    if missing:
        raise filter_required(table, f"set partition_filter: {required}")


def _folded(term: PartitionTerm) -> tuple[str, str | RecipientProperty]:
    return term.column.casefold(), term.value


def _value_test(
    table: SharedTable, principal: Principal, metadata: TableMetadata, term: PartitionTerm
) -> Callable[[PartitionValues], bool]:
    """Whether a partition has the value of a term, in whatever form its writer left it."""
    key = partition_key(metadata, term.column)
    if key is None:
        raise _not_partitioned(table, term)
    column = canonical_partitions(metadata).columns.get(key)
    wanted = term_value(table, principal, term)
    if column is None:
        return lambda values: values.get(key) == wanted
    form = canonical_value(column, wanted)

    @cache  # many partitions have the same value of one of their columns
    def holds(text: str | None) -> bool:
        return text is not None and canonical_value(column, text) == form

    return lambda values: holds(values.get(key))


def _identity_test(
    table: SharedTable, principal: Principal, declared: IcebergDeclaration, term: PartitionTerm
) -> Callable[[PartitionValues], bool]:
    """Whether a file of an Iceberg table is in the partition that a term names.

    A file that is not partitioned by the column can have rows of all values. The condition raises
    `UnsupportedOperation` for it.
    """
    column = identity_column(declared, term.column)
    if column is None:
        raise _not_partitioned(table, term)
    key, written, wanted = column.key, column.written, term_value(table, principal, term)

    def holds(values: PartitionValues) -> bool:
        if key not in values:
            raise UnsupportedOperation(
                f"{table.full_name} is shared in part, but some of its files are not partitioned by "
                f"the column {term.column!r}: ask the provider to rewrite them (rewrite_data_files)"
            ).decided_by(PARTITION_FILTER)
        value = values[key]
        try:
            return value is not None and written(value) == wanted
        except ValueError:
            return False  # no value of the column's type

    return holds


def _not_partitioned(table: SharedTable, term: PartitionTerm) -> UnsupportedOperation:
    return UnsupportedOperation(
        f"{table.full_name} is shared in part, by its column {term.column!r}, which does not "
        "partition this version: ask the provider to correct the share's partition filter"
    ).decided_by(PARTITION_FILTER)


def term_value(table: SharedTable, principal: Principal, term: PartitionTerm) -> str:
    """The value that a term of the table's filter requires for a recipient."""
    if isinstance(term.value, str):
        return term.value
    value = principal.properties.get(term.value.name)
    if value is None:
        raise PermissionDenied(
            f"{table.full_name} is shared in part, by the recipient's property {term.value.name!r}, "
            "which you do not have: ask the provider to set it"
        ).decided_by(PARTITION_FILTER)
    return value
