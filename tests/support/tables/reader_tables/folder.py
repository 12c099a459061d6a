"""A reader table in the making: data files, the log, and the rows that a correct reader returns."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from support.tables.deltalog import Action, DeltaFolder, metadata
from support.tables.reader_tables.schemas import SchemaMapping, renamed
from support.tables.reader_tables.values import Row, partition_text, stats_text

WRITE = partial(pq.write_table, store_schema=False)
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


class TableFolder:
    """Writes `delta/`, a table by its actions, and `expected/`, its rows."""

    def __init__(
        self,
        root: Path,
        schema: pa.Schema,
        *,
        partitioned_by: Sequence[str] = (),
        mode: str | None = None,
        write: Callable[[pa.Table, Path], None] = WRITE,
    ) -> None:
        self.root, self.log = root, DeltaFolder(root / "delta")
        self._schema, self._partitions = schema, partitioned_by
        self._mapping, self._write = SchemaMapping(schema, mode), write
        self._physical = dict(zip(schema.names, self._mapping.physical, strict=True))

    def metadata(self, **configuration: str) -> Action:
        """The `metaData` action; `__` in names of properties stands for a dot."""
        action = metadata(partitioned_by=self._partitions, **configuration)
        action["metaData"]["schemaString"] = json.dumps(self._mapping.delta)
        action["metaData"]["configuration"] |= self._mapping.configuration
        return action

    def file(
        self,
        name: str,
        rows: Sequence[Row],
        *,
        stats: bool = True,
        partition: Mapping[str, str | None] | None = None,
        **values: Any,
    ) -> Action:
        """Write a data file; its `add` action."""
        if partition is None:
            partition = {key: partition_text(rows[0][key]) for key in self._partitions}
        spelled = {self._physical[key].name: text for key, text in partition.items()}
        path = "/".join([*(_directory(key, text) for key, text in spelled.items()), name])
        target = self.log.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        fields = [field for field in self._schema if field.name not in self._partitions]
        physical = [self._physical[field.name] for field in fields]
        here, there = pa.struct(fields), pa.struct(physical)
        data = [renamed(row, here, there) for row in rows]
        self._write(pa.Table.from_pylist(data, pa.schema(physical)), target)
        if stats:
            kinds = {field.name: field.type for field in physical}
            values = {"stats": stats_text(data, kinds, tight="deletionVector" not in values), **values}
        return {
            "add": {
                "path": quote(path, safe="/=+"),
                "partitionValues": spelled,
                "size": target.stat().st_size,
                "modificationTime": 1_600_000_000_000,
                "dataChange": True,
                **values,
            }
        }

    def expect(self, rows: Sequence[Row]) -> None:
        """Write the rows that a correct reader returns."""
        expect(self.root, pa.Table.from_pylist(rows, self._schema))


def expect(root: Path, rows: pa.Table) -> None:
    """Write the rows that a correct reader returns, instead of those of an earlier version."""
    (root / "expected").mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, root / "expected" / "rows.parquet")


def _directory(name: str, text: str | None) -> str:
    """A directory as Hive names it, escaped a first time."""
    return f"{quote(name, safe=' ')}={_HIVE_NULL if not text else quote(text, safe=' +')}"
