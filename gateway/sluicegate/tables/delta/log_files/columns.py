"""The `add` structs of Parquet checkpoints as columns of `FILE_SCHEMA`."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from sluicegate.tables.delta.log_files.actions import check_sizes
from sluicegate.tables.delta.log_files.jsontext import map_texts, members, quoted
from sluicegate.tables.delta.log_files.paths import check_servable, literal_paths, other_spellings
from sluicegate.tables.snapshot import DELETION_VECTOR, FILE_SCHEMA

_NOT_NUMBERS = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


def stats_texts(stats: pa.StructArray) -> pa.Array:
    """JSON texts of a `stats_parsed` column. Null if the struct is null.

    Null leaves are omitted. Numbers and booleans are written as such, and decimals with all digits.
    Dates are written as `2021-03-04`. Timestamps are in UTC, truncated to milliseconds
    (`2021-03-04T05:06:07.089Z`), and without the `Z` if they have no zone. Values of other types (a
    variant's bounds) are omitted: files with unknown bounds are never pruned.
    """
    return pc.if_else(stats.is_valid(), _object(stats), pa.scalar(None, pa.string()))


def _object(struct: pa.StructArray) -> pa.Array:
    names, texts = [], []
    for field, values in zip(struct.type, struct.flatten(), strict=True):
        text = stats_texts(values) if pt.is_struct(values.type) else _leaf(values)
        if text is not None:
            names.append(field.name)
            texts.append(text)
    return members(names, texts, length=len(struct))


def _leaf(values: pa.Array) -> pa.Array | None:
    kind = values.type
    if pt.is_string(kind) or pt.is_large_string(kind):
        return quoted(values.cast(pa.string()))
    if pt.is_timestamp(kind):
        return _timestamps(values)
    if pt.is_date(kind):
        return quoted(values.cast(pa.string()))
    if pt.is_floating(kind):
        return _floats(values)
    if pt.is_integer(kind) or pt.is_boolean(kind) or pt.is_decimal(kind):
        return values.cast(pa.string())
    return None


def _timestamps(values: pa.Array) -> pa.Array:
    zone = values.type.tz
    floored = pc.floor_temporal(values, unit="millisecond").cast(pa.timestamp("ms", zone))
    suffix = "" if zone is None else "Z"
    return quoted(pc.strftime(floored, format=f"%Y-%m-%dT%H:%M:%S{suffix}"))


def _floats(values: pa.Array) -> pa.Array:
    texts = values.cast(pa.string())
    for spelled, json in _NOT_NUMBERS.items():
        texts = pc.if_else(pc.equal(texts, spelled), json, texts)
    return texts


# Names in the log of the columns that are used unchanged.
_PLAIN = {
    "size": "size",
    "modificationTime": "modification_time",
    "baseRowId": "base_row_id",
    "defaultRowCommitVersion": "default_row_commit_version",
    "clusteringProvider": "clustering_provider",
}
STATS, STATS_STRUCT = "stats", "stats_parsed"
ADD_FIELDS = ("path", "partitionValues", "tags", "deletionVector", STATS, *_PLAIN)


class AddColumns:
    """Converts batches of `add` structs, which share the buffers of all-null columns."""

    def __init__(self, root: str, rows: int) -> None:
        self._root = root
        self._rows = rows
        self._nulls: dict[pa.DataType, pa.Array] = {}

    def convert(self, adds: pa.StructArray) -> pa.RecordBatch:
        """Columns of the adds among a checkpoint's rows, at most as many as set in the constructor."""
        adds = adds.filter(pc.struct_field(adds, "path").is_valid())
        fields = dict(zip((field.name for field in adds.type), adds.flatten(), strict=True))
        columns = {plain: self._plain(fields, name) for name, plain in _PLAIN.items()}
        columns["path"] = literal_paths(fields["path"], self._root)
        columns["spelled_path"] = other_spellings(fields["path"], columns["path"])
        check_servable(columns["path"], "the Delta log's checkpoint")
        columns["partition_values"] = (
            self._map(fields, "partitionValues").fill_null("{}").dictionary_encode()
        )
        columns["tags"] = self._map(fields, "tags")
        columns["stats"] = self._stats(fields, len(adds))
        columns["deletion_vector"] = self._deletion_vectors(fields, len(adds))
        if columns["size"].null_count:
            raise ValueError("an add has no size")
        check_sizes(columns["size"], "the Delta log's checkpoint")
        return pa.RecordBatch.from_arrays(
            [self._shared(columns[field.name], field.type) for field in FILE_SCHEMA], schema=FILE_SCHEMA
        )

    def _plain(self, fields: Mapping[str, pa.Array], name: str) -> pa.Array:
        kind = FILE_SCHEMA.field(_PLAIN[name]).type
        return fields[name].cast(kind) if name in fields else self._null(kind, len(fields["path"]))

    def _map(self, fields: Mapping[str, pa.Array], name: str) -> pa.Array:
        return (
            map_texts(fields[name]) if name in fields else self._null(pa.string(), len(fields["path"]))
        )

    def _stats(self, fields: Mapping[str, pa.Array], rows: int) -> pa.Array:
        texts = fields.get(STATS, self._null(pa.string(), rows))
        if STATS_STRUCT in fields and texts.null_count:
            return pc.coalesce(texts, stats_texts(fields[STATS_STRUCT]))
        return texts

    def _deletion_vectors(self, fields: Mapping[str, pa.Array], rows: int) -> pa.Array:
        vectors = fields.get("deletionVector")
        if vectors is None or vectors.null_count == rows:
            return self._null(DELETION_VECTOR, rows)
        parts = dict(zip((field.name for field in vectors.type), vectors.flatten(), strict=True))
        children = [
            parts[field.name].cast(field.type) if field.name in parts else self._null(field.type, rows)
            for field in DELETION_VECTOR
        ]
        return pa.StructArray.from_arrays(
            children, fields=list(DELETION_VECTOR), mask=vectors.is_null()
        )

    def _shared(self, values: pa.Array, kind: pa.DataType) -> pa.Array:
        return self._null(kind, len(values)) if values.null_count == len(values) else values

    def _null(self, kind: pa.DataType, rows: int) -> pa.Array:
        if kind not in self._nulls:
            self._nulls[kind] = pa.nulls(self._rows, kind)
        return self._nulls[kind].slice(0, rows)
