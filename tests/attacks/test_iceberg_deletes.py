"""Delete files and deletion vectors of Iceberg that cost the gateway more than they are worth."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.gateways.attacked_iceberg import SMALL, AttackedIceberg, attacked_iceberg
from support.tables.iceberg_by_hand import HandWritten, repeated_position


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedIceberg]:
    """With the default limits."""
    with attacked_iceberg(tmp_path_factory.mktemp("attacked")) as attacked:
        yield attacked


def test_a_long_path_of_very_many_positions_is_read_once(gateway: AttackedIceberg) -> None:
    path, table = gateway.table()
    table.write_deletes(repeated_position("x" * 1_000_000, 100_000))
    with gateway.watched() as watch:
        assert gateway.query(path).status_code == 200
    watch.check(4 * SMALL)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"PAR1" + b"\xff" * 50 + b"PAR1", id="a broken footer"),
        pytest.param(b"PAR1" + b"\xff\xff\xff\x7fPAR1", id="a footer of two gigabytes"),
        pytest.param(repeated_position("x", 100)[:-20] + b"\0" * 20, id="an end that is cut off"),
    ],
)
def test_files_of_positions_that_are_none_are_refused(gateway: AttackedIceberg, content: bytes) -> None:
    path, table = gateway.table()
    table.write_deletes(content)
    assert "the delete file 'deletes' of the Iceberg table is broken" in gateway.refused(path)


def test_positions_before_the_first_row_are_refused(gateway: AttackedIceberg) -> None:
    path, table = gateway.table()
    buffer = io.BytesIO()
    pq.write_table(pa.table({"file_path": ["x"], "pos": pa.array([-1], pa.int64())}), buffer)
    table.write_deletes(buffer.getvalue())
    assert "the delete file 'deletes' of the Iceberg table is broken" in gateway.refused(path)


def _blob(bitmap: bytes) -> bytes:
    payload = struct.pack("<I", 1681511377) + bitmap
    return struct.pack(">I", len(payload)) + payload + struct.pack(">I", zlib.crc32(payload))


def _full(count: int) -> bytes:
    """A bitmap whose 32-bit parts have all bits, in runs (Roaring format specification)."""
    runs = struct.pack("<I", 12347 | 65535 << 16) + b"\xff" * 8192
    runs += b"".join(struct.pack("<HH", key, 65535) for key in range(65536))
    runs += struct.pack("<I", 0) * 65536 + struct.pack("<HHH", 1, 0, 65535) * 65536
    return struct.pack("<Q", count) + b"".join(
        struct.pack("<I", number) + runs for number in range(count)
    )


@pytest.mark.parametrize(
    ("bitmap", "members"),
    [
        pytest.param(b"", {}, id="no bitmap"),
        pytest.param(struct.pack("<Q", 2**63), {}, id="very many parts"),
        pytest.param(struct.pack("<QII", 1, 0, 12346) + b"\xff" * 60, {}, id="a broken part"),
        pytest.param(b"", {"content_offset": -5}, id="before the file"),
        pytest.param(b"", {"content_offset": 2**62}, id="far behind the file"),
        pytest.param(b"", {"content_offset": 20}, id="beyond the end"),
        pytest.param(b"", {"content_size_in_bytes": 0}, id="no size"),
        pytest.param(b"", {"content_size_in_bytes": -1}, id="a negative size"),
        pytest.param(b"", {"content_size_in_bytes": 2**40}, id="a terabyte"),
        pytest.param(b"", {"content_offset": None}, id="no place"),
        pytest.param(b"", {"referenced_data_file": None}, id="no data file"),
    ],
)
def test_vectors_that_no_writer_writes_are_refused(
    gateway: AttackedIceberg, bitmap: bytes, members: dict[str, Any]
) -> None:
    path, table = gateway.table()
    gateway.refused(_with_vector(path, table, bitmap, **members))


def test_a_vector_of_very_many_rows_takes_no_more_than_its_file(gateway: AttackedIceberg) -> None:
    path, table = gateway.table()
    with gateway.watched() as watch:
        answer = gateway.query(_with_vector(path, table, _full(2)))
    watch.check(SMALL)
    assert answer.status_code in (200, 400)


def _with_vector(path: str, table: HandWritten, bitmap: bytes, **members: Any) -> str:
    blob = _blob(bitmap)
    place = {"content_offset": 0, "content_size_in_bytes": len(blob)}
    data_file = {"referenced_data_file": f"{table.location}/data/1.parquet"}
    table.write_deletes(blob, file_format="PUFFIN", **{**place, **data_file, **members})
    return path
