"""Partition values in one form per type, whatever the writer of the log used.

Source: Delta protocol, "Partition Value Serialization". Spark casts the text of a value, so it accepts
many forms. Other clients accept few, and some of them read another value instead of an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from functools import partial

import orjson
import pyarrow as pa

from sluicegate._util.lru import cached_by_text
from sluicegate.tables.column_mapping import MODE, mapping_mode
from sluicegate.tables.predicates.columns import ColumnType, Family, find_column
from sluicegate.tables.predicates.values import DECIMALS, INT64, number, units
from sluicegate.tables.snapshot import TableMetadata

_VALUES = "partition_values"
# The texts that Spark casts to a boolean.
_BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), "true"),
    **dict.fromkeys(("false", "f", "no", "n", "0"), "false"),
}
_DAY = r"(\d{4})-(\d{1,2})-(\d{1,2})"
_DATE = re.compile(rf"{_DAY}(?:[ T].*)?")
_MOMENT = re.compile(
    rf"{_DAY}(?:[ T](\d{{1,2}}):(\d{{1,2}})(?::(\d{{1,2}})(?:\.(\d*))?)?\s*"
    r"(Z|UTC|GMT|([+-])(\d{1,2})(?::?(\d{2}))?)?)?"
)
_INTEGER = re.compile(r"([+-]?[0-9]{1,40})(?:\.0*)?")  # Spark casts no exponents
_NEVER = "(?!)"
# The JSON of most values in the forms of this module, so that most texts need no parsing.
_FORMS = {
    Family.BOOLEAN: '"(?:true|false)"',
    Family.INTEGER: r'"(?:0|-?[1-9]\d{0,17})"',
    Family.STRING: r'"(?:[^"\\]|\\.)+"',
    Family.DATE: r'"\d{4}-\d\d-\d\d"',
    Family.TIMESTAMP: r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"',
    Family.TIMESTAMP_NTZ: r'"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.(?!000000)\d{6})?"',
    Family.OTHER: r'"(?:[^"\\]|\\.)+"',
}


def canonical_value(column: ColumnType, text: str) -> str:
    """The one form of a partition value.

    A timestamp is in UTC, with microseconds: `2026-01-31T23:30:00.000000Z`. Without a zone, UTC is
    assumed. A timestamp without time zone has a space instead of the `T`, and a fraction only if it is
    not zero. A decimal has all digits of its scale. A text that is not a value of the type is returned
    unchanged.
    """
    write = _WRITERS.get(column.family)
    written = None if write is None else write(column, text.strip())
    return text if written is None else written


@dataclass(frozen=True, slots=True)
class CanonicalPartitions:
    """Rewrites the partition values of a table."""

    columns: Mapping[str, ColumnType]
    form: re.Pattern[str]

    def text(self, partition: str) -> str:
        """The JSON of a partition's values with each value in its one form, and null if it is empty."""
        if self.form.fullmatch(partition):
            return partition
        try:
            values = orjson.loads(partition)
            return orjson.dumps({key: self._value(key, values[key]) for key in values}).decode()
        except (ValueError, TypeError):  # half of a surrogate pair, or no object of texts
            return partition

    def of_files(self, files: pa.Table) -> pa.Table:
        """Files (rows of `FILE_SCHEMA`) with their partition values in this form."""
        if not self.columns:
            return files
        place = files.schema.get_field_index(_VALUES)
        field = files.schema.field(place)
        chunks = [self._column(chunk) for chunk in files.column(place).chunks]
        return files.set_column(place, field, pa.chunked_array(chunks, field.type))

    def of_changes(self, changes: pa.RecordBatch) -> pa.RecordBatch:
        """Changed files (rows of `CHANGE_SCHEMA`) with their partition values in this form."""
        if not self.columns:
            return changes
        place = changes.schema.get_field_index(_VALUES)
        return changes.set_column(
            place, changes.schema.field(place), self._column(changes.column(place))
        )

    def _column(self, chunk: pa.DictionaryArray) -> pa.DictionaryArray:
        # The dictionary of a slice has the values of all rows of its chunk.
        many = len(chunk.dictionary) > len(chunk)
        used = chunk.dictionary_decode().dictionary_encode() if many else chunk
        texts = used.dictionary.to_pylist()
        written = [text and self.text(text) for text in texts]
        if written == texts:
            return chunk
        dictionary = pa.array(written, used.dictionary.type)
        return pa.DictionaryArray.from_arrays(used.indices, dictionary)

    def _value(self, key: str, text: str | None) -> str | None:
        if not text:
            return None  # the log can contain an empty text for null
        column = self.columns.get(key)
        return text if column is None else canonical_value(column, text)


def canonical_partitions(metadata: TableMetadata) -> CanonicalPartitions:
    """What rewrites the partition values of tables with this schema and partitioning."""
    return _canonical(metadata.schema_string, metadata.partition_columns, mapping_mode(metadata))


@cached_by_text
def _canonical(schema: str, names: tuple[str, ...], mode: str) -> CanonicalPartitions:
    metadata = TableMetadata("", schema, names, {MODE: mode})
    found = [find_column(metadata, (name,)) for name in names]
    columns = {column.path[0]: column.type for column in found if column is not None}
    members = "|".join(
        f"{re.escape(orjson.dumps(key).decode())}:(?:null|{_form(type_)})"
        for key, type_ in columns.items()
    )
    member = rf"(?:{members or _NEVER})(?:,(?!\}})|(?=\}}))"
    return CanonicalPartitions(columns, re.compile(rf"\{{(?:{member})*\}}"))


def _form(column: ColumnType) -> str:
    if column.family is Family.DECIMAL:
        fraction = rf"\.\d{{{column.scale}}}" if column.scale else ""
        return rf'"-?(?:0|[1-9]\d*){fraction}"'
    return _FORMS.get(column.family, _NEVER)


def _boolean(_: ColumnType, text: str) -> str | None:
    return _BOOLEANS.get(text.lower())


def _integer(_: ColumnType, text: str) -> str | None:
    found = _INTEGER.fullmatch(text)
    value = None if found is None else int(found[1])
    return None if value is None or value not in INT64 else str(value)


def _float(_: ColumnType, text: str) -> str | None:
    try:
        value = float(text)
    except ValueError:
        return None
    if "_" in text:  # Python's own form
        return None
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def _decimal(column: ColumnType, text: str) -> str | None:
    value = number(text)
    if value is None:
        return None
    low, high = units(value, column.scale)
    if low != high or low not in DECIMALS:
        return None
    digits = str(abs(low)).zfill(column.scale + 1)
    cut = len(digits) - column.scale
    sign = "-" if low < 0 else ""
    return f"{sign}{digits[:cut]}.{digits[cut:]}" if column.scale else f"{sign}{digits}"


def _date(_: ColumnType, text: str) -> str | None:
    found = _DATE.fullmatch(text)
    try:
        return found and date(int(found[1]), int(found[2]), int(found[3])).isoformat()
    except ValueError:
        return None


def _timestamp(_: ColumnType, text: str, *, zoned: bool) -> str | None:
    found = _MOMENT.fullmatch(text)
    try:
        return found and _written(found, zoned=zoned)
    except (ValueError, OverflowError):
        return None


def _written(found: re.Match[str], *, zoned: bool) -> str:
    fraction = (found[7] or "")[:6].ljust(6, "0")
    year, month, day, hour, minute, second = (int(found[part] or 0) for part in range(1, 7))
    local = datetime(year, month, day, hour, minute, second, int(fraction))
    if not zoned:
        return local.isoformat(sep=" ", timespec="microseconds" if local.microsecond else "seconds")
    moment = local.replace(tzinfo=_zone(found)).astimezone(UTC)
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _zone(found: re.Match[str]) -> timezone:
    if not found[9]:
        return UTC
    offset = timedelta(hours=int(found[10]), minutes=int(found[11] or 0))
    return timezone(offset if found[9] == "+" else -offset)


_WRITERS: Mapping[Family, Callable[[ColumnType, str], str | None]] = {
    Family.BOOLEAN: _boolean,
    Family.INTEGER: _integer,
    Family.FLOAT: _float,
    Family.DECIMAL: _decimal,
    Family.DATE: _date,
    Family.TIMESTAMP: partial(_timestamp, zoned=True),
    Family.TIMESTAMP_NTZ: partial(_timestamp, zoned=False),
}
