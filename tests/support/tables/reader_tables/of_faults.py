"""Tables that no reader may read, and folders that are no table."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pyarrow as pa
from support.tables.deltalog import add, protocol
from support.tables.reader_tables.folder import TableFolder
from support.tables.reader_tables.of_histories import TABLES as HISTORIES
from support.tables.reader_tables.of_partitions import TABLES as PARTITIONS
from support.tables.reader_tables.of_types import TABLES as TYPES
from support.tables.reader_tables.served import ReaderTable, broken, missing
from support.tables.reader_tables.values import rows_of

_SCHEMA = pa.schema({"id": pa.int64()})
FOLDER = "folder-of-tables"
IN_THE_FOLDER = {
    name: {**HISTORIES, **PARTITIONS, **TYPES}[name]
    for name in ("history-3", "part-as-a-data-column", "partitions-of-escaped-texts", "types-primitive")
}


def _of_a_later_version(root: Path) -> None:
    table = TableFolder(root, _SCHEMA)
    later = {"minReaderVersion": 99, "minWriterVersion": 7, "readerFeatures": [], "writerFeatures": []}
    table.log.commit(0, {"protocol": later}, table.metadata(), add("abc"))


def _without_metadata(root: Path) -> None:
    TableFolder(root, _SCHEMA).log.commit(0, protocol(), add("abc"))


def _without_protocol(root: Path) -> None:
    table = TableFolder(root, _SCHEMA)
    table.log.commit(0, table.metadata(), add("abc"))


def _checkpoint_without_metadata(root: Path, first_commit: int) -> None:
    """A checkpoint that lost the metadata, and the commits since a version, of which one has it."""
    table = TableFolder(root, _SCHEMA)
    for version in range(first_commit, 11):
        state = [protocol(), table.metadata()] if version == 0 else []
        table.log.commit(version, *state, add(str(version)))
    live = [add(str(version)) for version in range(11)]
    table.log.parquet(f"{10:020}.checkpoint.parquet", [protocol(), *live])
    table.log.hint('{"version":10,"size":12}')


def _without_log(root: Path) -> None:
    """A data file, as other tools write it."""
    TableFolder(root, _SCHEMA).file("part-0.parquet", rows_of(_SCHEMA, [1, 2]))


def _folder_of_tables(root: Path) -> None:
    for name, table in IN_THE_FOLDER.items():
        written = root / "written" / name
        table.write(written)
        (root / "delta").mkdir(exist_ok=True)
        (written / "delta").rename(root / "delta" / name)


TABLES = {
    "fault-reader-version": ReaderTable(_of_a_later_version, broken("reader version 99")),
    "fault-no-metadata": ReaderTable(_without_metadata, broken("no metadata action")),
    "fault-no-protocol": ReaderTable(_without_protocol, broken("no protocol action")),
    "fault-checkpoint-without-metadata": ReaderTable(
        partial(_checkpoint_without_metadata, first_commit=5), broken("no metadata action")
    ),
    # The commits before the checkpoint have what it lacks. No reader takes it from them.
    "checkpoint-without-metadata": ReaderTable(
        partial(_checkpoint_without_metadata, first_commit=0), broken("no metadata action")
    ),
    "fault-no-log": ReaderTable(_without_log, missing()),
    FOLDER: ReaderTable(_folder_of_tables, missing()),
}
