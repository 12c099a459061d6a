"""Position delete files: the rows that are deleted from one data file, in Parquet.

The size of a file follows from the path and the number of rows, so that manifests and plans can name it
before the rows are read. No writer of Parquet guarantees that, so the bytes are written here.
Sources: Iceberg specification, "Position Delete Files"; Parquet format, `parquet.thrift`.
"""

from __future__ import annotations

import struct
from typing import Final

from sluicegate.tables.parquet.thrift import I32, I64, ThriftStruct, varint

FILE_PATH_ID: Final = 2147483546
"""The reserved field id of the column with the path of the data file."""

_POSITION_ID = 2147483545
_MAGIC = b"PAR1"
_INT64, _BYTE_ARRAY = 2, 6  # Type
_PLAIN, _RLE, _DICTIONARY = 0, 3, 8  # Encoding
_UTF8 = 0  # ConvertedType
_REQUIRED = 0  # FieldRepetitionType
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2  # PageType
_UNCOMPRESSED = 0  # CompressionCodec
_COLUMNS = (("file_path", _BYTE_ARRAY, FILE_PATH_ID), ("pos", _INT64, _POSITION_ID))
_CREATED_BY = "sluicegate"
_BIT_WIDTH = 1


def position_delete_file(path: str, rows: bytes) -> bytes:
    """A file."""
    start, position_header, end = _frame(path.encode(), len(rows) // 8)
    return b"".join((start, position_header, rows, end))


def file_size(path: str, rows: int) -> int:
    """Bytes of a file with a number of rows."""
    return sum(map(len, _frame(path.encode(), rows))) + 8 * rows


def _frame(path: bytes, rows: int) -> tuple[bytes, bytes, bytes]:
    """What comes before the page of positions, its header, and what comes after it."""
    entry = struct.pack("<I", len(path)) + path
    # One run of the only index of the dictionary.
    indexes = bytes((_BIT_WIDTH,)) + varint(rows << 1) + b"\0"
    dictionary = _dictionary_header(len(entry)) + entry
    page = _data_header(len(indexes), rows, _DICTIONARY) + indexes
    header = _data_header(8 * rows, rows, _PLAIN)
    first, second = len(_MAGIC), len(_MAGIC) + len(dictionary) + len(page)
    chunks = (
        _chunk(0, rows, (_PLAIN, _RLE, _DICTIONARY), second - first, first + len(dictionary), first),
        _chunk(1, rows, (_PLAIN, _RLE), len(header) + 8 * rows, second, None),
    )
    footer = _footer(rows, chunks, second - first + len(header) + 8 * rows)
    end = footer + struct.pack("<I", len(footer)) + _MAGIC
    return _MAGIC + dictionary + page, header, end


def _dictionary_header(size: int) -> bytes:
    values = ThriftStruct().integer(1, I32, 1).integer(2, I32, _PLAIN)
    return _page_header(_DICTIONARY_PAGE, size).struct(7, values).done()


def _data_header(size: int, rows: int, encoding: int) -> bytes:
    values = ThriftStruct().integer(1, I32, rows).integer(2, I32, encoding)
    return (
        _page_header(_DATA_PAGE, size)
        .struct(5, values.integer(3, I32, _RLE).integer(4, I32, _RLE))
        .done()
    )


def _page_header(kind: int, size: int) -> ThriftStruct:
    return ThriftStruct().integer(1, I32, kind).integer(2, I32, size).integer(3, I32, size)


def _chunk(
    column: int, rows: int, encodings: tuple[int, ...], size: int, page: int, dictionary: int | None
) -> ThriftStruct:
    name, kind, _ = _COLUMNS[column]
    described = (
        ThriftStruct()
        .integer(1, I32, kind)
        .integers(2, I32, encodings)
        .texts(3, [name])
        .integer(4, I32, _UNCOMPRESSED)
        .integer(5, I64, rows)
        .integer(6, I64, size)
        .integer(7, I64, size)
        .integer(9, I64, page)
    )
    if dictionary is not None:
        described.integer(11, I64, dictionary)
    start = page if dictionary is None else dictionary
    return ThriftStruct().integer(2, I64, start).struct(3, described)


def _footer(rows: int, chunks: tuple[ThriftStruct, ...], size: int) -> bytes:
    group = ThriftStruct().structs(1, chunks).integer(2, I64, size).integer(3, I64, rows)
    root = ThriftStruct().text(4, "table").integer(5, I32, len(_COLUMNS))
    return (
        ThriftStruct()
        .integer(1, I32, 1)
        .structs(2, [root, *(_column(*each) for each in _COLUMNS)])
        .integer(3, I64, rows)
        .structs(4, [group])
        .text(6, _CREATED_BY)
        .done()
    )


def _column(name: str, kind: int, field_id: int) -> ThriftStruct:
    column = ThriftStruct().integer(1, I32, kind).integer(3, I32, _REQUIRED).text(4, name)
    if kind == _BYTE_ARRAY:
        column.integer(6, I32, _UTF8)
    return column.integer(9, I32, field_id)
