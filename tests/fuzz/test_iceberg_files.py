"""Files of Iceberg tables, damaged at random: read, or refused in words."""

from __future__ import annotations

import io
import os
import random
import resource
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import LocalStore
from pyroaring import BitMap64
from support.tables.iceberg_by_hand import HandWritten

from sluicegate.api import (
    Budget,
    CatalogTable,
    ObjectDirectory,
    SluicegateError,
    TableFormat,
    TableLimits,
)
from sluicegate_iceberg.format.table_format import IcebergFormat

# 20,000 take some minutes.
_CASES = int(os.environ.get("SLUICEGATE_FUZZ_CASES", "100"))
_EXPECTED = (400, 404, 503)
_TOKENS = (
    b"null",
    b"-1",
    b"1e999",
    b"[]",
    b"{}",
    b'""',
    b"\xff" * 9,
    b"\x80" * 9,
    b"\0" * 9,
    b"..",
    b"9" * 30,
)


def _with_vector(table: HandWritten) -> None:
    payload = struct.pack("<I", 1681511377) + BitMap64(range(0, 90, 7)).serialize()
    blob = struct.pack(">I", len(payload)) + payload + struct.pack(">I", zlib.crc32(payload))
    table.write_deletes(
        blob,
        file_format="PUFFIN",
        content_offset=0,
        content_size_in_bytes=len(blob),
        referenced_data_file=f"{table.location}/data/1.parquet",
    )


def _with_positions(table: HandWritten) -> None:
    rows = {"file_path": [f"{table.location}/data/1.parquet"] * 50, "pos": list(range(0, 100, 2))}
    buffer = io.BytesIO()
    pq.write_table(pa.table(rows), buffer, store_schema=False)
    table.write_deletes(buffer.getvalue())


def _damaged(good: bytes, dice: random.Random) -> bytes:
    data = bytearray(good)
    for _ in range(dice.randint(1, 4)):
        place = dice.randrange(len(data) + 1)
        change = dice.random()
        if change < 0.5 and place < len(data):
            data[place] = dice.randrange(256)
        elif change < 0.7:
            data[place : place + dice.randint(0, 9)] = dice.choice(_TOKENS)
        elif change < 0.8:
            del data[place:]
        elif change < 0.9:
            del data[place : place + dice.randint(1, 50)]
        else:
            start = dice.randrange(len(data) + 1)
            data[place:place] = data[start : start + dice.randint(1, 200)]
    return bytes(data)


@pytest.mark.parametrize("write_deletes", [_with_vector, _with_positions])
async def test_damaged_files_are_read_or_refused(
    tmp_path: Path, write_deletes: Callable[[HandWritten], None]
) -> None:
    table = HandWritten(tmp_path / "t")
    write_deletes(table)
    files = {path: path.read_bytes() for path in sorted(table.root.rglob("*")) if path.is_file()}
    dice, reads, early = random.Random(11), 0, 0
    for case in range(_CASES):
        path = dice.choice(list(files))
        path.write_bytes(_damaged(files[path], dice))
        reads += await _read(table, IcebergFormat())
        path.write_bytes(files[path])
        if case == min(1000, _CASES // 2):
            early = _peak()
    assert reads < _CASES
    assert await _read(table, IcebergFormat()), "the table is not read without damage either"
    assert _peak() <= 1.1 * early


async def _read(table: HandWritten, format_: TableFormat) -> bool:
    location = f"{table.location}/metadata/1.metadata.json"
    named = CatalogTable("t", "iceberg", table.location, metadata_location=location)
    budget = Budget(TableLimits(100_000_000, 100_000, 20))
    directory = ObjectDirectory(LocalStore(str(table.root)), "", budget)
    try:
        snapshot = await format_.latest(named, directory, None)
        await format_.changes(named, directory, snapshot, snapshot.version, snapshot.version)
    except SluicegateError as error:
        if error.status not in _EXPECTED:
            raise
        return False
    return True


def _peak() -> int:
    """Most resident memory of this process so far, kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
