"""Rows of deletion vectors, as positions.

Source: Delta protocol, "Deletion Vector Format"; Roaring format specification, "RoaringFormatSpec".
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api.errors import TableUnreadable

_MAGIC_BYTES = 4
_WITH_RUNS, _WITHOUT_RUNS = 12347, 12346
_FEWEST_WITH_OFFSETS = 4  # containers
_LARGEST_ARRAY = 4096  # values
_BITSET_BYTES = 8192


def positions(payload: bytes, cardinality: int) -> bytes:
    """The positions of a vector in ascending order, 64-bit little-endian integers."""
    parts, left = [], cardinality
    try:
        for start, values in _containers(memoryview(payload)[_MAGIC_BYTES:]):
            left -= len(values)
            if left < 0:
                break
            parts.append(pc.add(values, start))
    except (struct.error, IndexError, OverflowError, ValueError, pa.ArrowException) as error:
        raise TableUnreadable("a deletion vector of the table is damaged", detail=str(error)) from None
    if left:
        raise TableUnreadable(
            "a deletion vector of the table is damaged", detail=f"it does not have {cardinality} rows"
        )
    return b"".join(_bytes(part) for part in parts)


def _containers(data: memoryview) -> Iterator[tuple[int, pa.Int64Array]]:
    """The values of each container, and the number to add to them."""
    (bitmaps,) = struct.unpack_from("<Q", data)
    at = 8
    for _ in range(bitmaps):
        (high,) = struct.unpack_from("<I", data, at)
        at += 4
        (cookie,) = struct.unpack_from("<I", data, at)
        at += 4
        runs = b""
        if cookie & 0xFFFF == _WITH_RUNS:
            size = (cookie >> 16) + 1
            runs = bytes(data[at : at + (size + 7) // 8])
            at += len(runs)
        elif cookie == _WITHOUT_RUNS:
            (size,) = struct.unpack_from("<I", data, at)
            at += 4
        else:
            raise ValueError(f"cookie {cookie}")
        described = struct.unpack_from(f"<{2 * size}H", data, at)
        at += 4 * size + (4 * size if not runs or size >= _FEWEST_WITH_OFFSETS else 0)
        for number in range(size):
            start = (high << 32) + (described[2 * number] << 16)
            is_run = bool(runs) and bool(runs[number >> 3] >> (number & 7) & 1)
            values, at = _container(data, at, described[2 * number + 1] + 1, is_run=is_run)
            yield start, values


def _container(data: memoryview, at: int, count: int, *, is_run: bool) -> tuple[pa.Int64Array, int]:
    """The values of a container, and its end."""
    if is_run:
        (runs,) = struct.unpack_from("<H", data, at)
        pairs = struct.unpack_from(f"<{2 * runs}H", data, at + 2)
        found = array("q")
        for first, more in zip(pairs[::2], pairs[1::2], strict=True):
            found.extend(range(first, first + more + 1))
            if len(found) > count:
                break
        values, end = pa.array(found, pa.int64()), at + 2 + 4 * runs
    elif count <= _LARGEST_ARRAY:
        end = at + 2 * count
        buffer = pa.py_buffer(bytes(data[at:end]))
        values = pa.UInt16Array.from_buffers(pa.uint16(), count, [None, buffer]).cast(pa.int64())
    else:
        end = at + _BITSET_BYTES
        buffer = pa.py_buffer(bytes(data[at:end]))
        bits = pa.BooleanArray.from_buffers(pa.bool_(), 8 * _BITSET_BYTES, [None, buffer])
        values = pc.indices_nonzero(bits).cast(pa.int64())
    if len(values) != count or end > len(data):
        raise ValueError("a container has another number of values")
    return values, end


def _bytes(values: pa.Int64Array) -> memoryview:
    return memoryview(values.buffers()[1])[8 * values.offset : 8 * (values.offset + len(values))]
