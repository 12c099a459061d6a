"""Files that a writer made and somebody damaged, and deletion vectors by the grammar of bitmaps."""

from __future__ import annotations

import io
import random
import struct
import zlib
from functools import cache

import pyarrow as pa
import pyarrow.parquet as pq
from support.fuzz.grammars.sizes import many

_MAGIC = struct.pack("<I", 1681511377)
_RUNS, _ARRAYS = 12347, 12346  # cookies (Roaring format specification)


@cache
def _written(codec: str, dictionary: bool, paged: bool, length: int) -> bytes:
    rows = 400
    sink = io.BytesIO()
    paths = [f"{number % 7}" * length for number in range(rows)]
    table = pa.table({"file_path": paths, "pos": pa.array(range(rows), pa.int64())})
    pq.write_table(
        table,
        sink,
        compression=codec,
        use_dictionary=dictionary,
        column_encoding=None if dictionary else {"file_path": "DELTA_BYTE_ARRAY", "pos": "PLAIN"},
        data_page_version="2.0" if paged else "1.0",
        data_page_size=512 if paged else None,
        row_group_size=100 if paged else None,
    )
    return sink.getvalue()


def parquet_file(dice: random.Random) -> bytes:
    """A file of positions, of which some bytes are others, occur again, or are missing."""
    codec = dice.choice(["none", "snappy", "gzip", "zstd"])
    file = bytearray(
        _written(codec, dice.random() < 0.5, dice.random() < 0.5, dice.choice([1, 50, 20_000]))
    )
    for _ in range(dice.randint(0, 3)):
        at = dice.randrange(len(file)) if dice.random() < 0.5 else len(file) - 9 - dice.randrange(400)
        if dice.random() < 0.7:
            file[at] = dice.choice([0, 0x7F, 0x80, 0xFF, 0xF1, file[at] ^ 1 << dice.randrange(8)])
        else:
            size = dice.randint(1, 40)
            file[at:at] = file[at : at + size] * many(dice, 1 << 8)
    return bytes(file)


def vector(dice: random.Random) -> bytes:
    """A blob of a deletion vector."""
    bitmaps = many(dice, 1 << 12)
    one = b"".join(_bitmap(dice) for _ in range(dice.randint(1, 2)))
    parts = b"".join(
        struct.pack("<I", number) + one for number in range(min(bitmaps, 1 + (1 << 18) // len(one)))
    )
    declared = bitmaps if dice.random() < 0.9 else many(dice, 1 << 60)
    payload = _MAGIC + struct.pack("<Q", declared) + parts
    return struct.pack(">I", len(payload)) + payload + struct.pack(">I", zlib.crc32(payload))


def _bitmap(dice: random.Random) -> bytes:
    containers = max(1, many(dice, 1 << 10))
    if dice.random() < 0.5:
        heads = b"".join(struct.pack("<HH", key, 0) for key in range(containers))
        size = 8 + len(heads)
        offsets = b"".join(
            struct.pack("<I", size + 4 * containers + 2 * at) for at in range(containers)
        )
        return struct.pack("<II", _ARRAYS, containers) + heads + offsets + bytes(2 * containers)
    flags = b"\xff" * (-(-containers // 8))
    heads = b"".join(struct.pack("<HH", key, 65535) for key in range(containers))
    offsets = bytes(4 * containers) if containers >= 4 else b""
    runs = struct.pack("<HHH", 1, 0, dice.choice([0, 65535])) * containers
    return struct.pack("<I", _RUNS | (containers - 1) << 16) + flags + heads + offsets + runs
