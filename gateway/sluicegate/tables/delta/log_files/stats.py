"""Converts statistics that a checkpoint stores only as structs into the JSON text of the log.

With `delta.checkpoint.writeStatsAsJson=false`, only `stats_parsed` remains (Delta protocol, "Per-file
Statistics").
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from sluicegate.tables.delta.log_files.jsontext import members, quoted

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
