"""An Iceberg table that Spark writes from a generated history, with merge on read."""

from __future__ import annotations

from histories.history import (
    Checkpoint,
    Delete,
    History,
    Insert,
    Operation,
    Optimize,
    Overwrite,
    SetFeed,
    Vacuum,
    columns_after,
)
from histories.versions import Version
from pyiceberg.table import Table
from spark.iceberg_readers import IcebergReaders
from spark.iceberg_tables import MERGE_ON_READ
from spark.sql import declared
from spark.statements import statement
from support.gateways.iceberg_rest import SCHEMA
from support.tables.iceberg_history import numbered_snapshots


class IcebergWriter:
    """Writes a table."""

    def __init__(self, readers: IcebergReaders, past: History, format_version: int) -> None:
        self.name = f"{past.name}_v{format_version}"
        self._readers = readers
        self._columns = past.columns
        self._table = f"{readers.direct}.{SCHEMA}.{self.name}"
        partitions = f"PARTITIONED BY ({', '.join(past.partition_columns)})"
        readers.spark.sql(
            f"CREATE TABLE {self._table} ({declared(past.columns)}) USING iceberg "
            f"{partitions if past.partition_columns else ''} "
            f"TBLPROPERTIES ('format-version' = '{format_version}', {MERGE_ON_READ})"
        )

    def apply(self, operation: Operation) -> None:
        """Apply an operation. Some operations commit nothing, some commit more than once."""
        match operation:
            case Optimize():
                self._call("rewrite_data_files", "options => map('rewrite-all', 'true')")
            case Checkpoint():
                self._call("rewrite_manifests")
            case Vacuum():
                self._call("expire_snapshots", "older_than => TIMESTAMP '2100-01-01 00:00:00'")
            case SetFeed():
                pass  # an Iceberg table has no switch for it
            case Overwrite(rows, str(part)):
                self._run(Delete(f"part = '{part}'"))
                self._run(Insert(rows))
            case _:
                self._run(operation)
        self._columns = columns_after(self._columns, operation)

    @property
    def has_deletes(self) -> bool:
        """Return whether the table has live delete files."""
        return any(task.delete_files for task in self._loaded().scan().plan_files())

    @property
    def has_forgotten(self) -> bool:
        """Return whether snapshots have expired."""
        snapshots = numbered_snapshots(self._loaded())
        return bool(snapshots) and snapshots[0][1].parent_snapshot_id is not None

    def versions(self) -> list[Version]:
        """Return what Spark reads from each snapshot, oldest first."""
        return [
            Version(
                number,
                snapshot.timestamp_ms,
                self._readers.spark.sql(
                    f"SELECT * FROM {self._table} VERSION AS OF {snapshot.snapshot_id}"
                ).toArrow(),
            )
            for number, snapshot in numbered_snapshots(self._loaded())
        ]

    def _loaded(self) -> Table:
        loaded: Table = self._readers.writer.load_table((SCHEMA, self.name))
        return loaded

    def _run(self, operation: Operation) -> None:
        self._readers.spark.sql(statement(operation, self._table, self._columns))

    def _call(self, procedure: str, *arguments: str) -> None:
        told = ", ".join((f"table => '{SCHEMA}.{self.name}'", *arguments))
        self._readers.spark.sql(f"CALL {self._readers.direct}.system.{procedure}({told})")
