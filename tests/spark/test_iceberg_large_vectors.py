"""Iceberg tables of Spark with so many scattered deletes that vectors do not fit into a response."""

from __future__ import annotations

import httpx
import pytest
from spark.iceberg_readers import IcebergReaders
from spark.iceberg_tables import Written
from support.tables.large_vectors import FITS, ROWS, TIMEOUT_SECONDS, vectors

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("iceberg"),  # one worker has the catalogs
    pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
]
# Two data files with rows of each other's numbers, so that their positions lie side by side.
STATEMENTS = (
    "CREATE TABLE {t} (id BIGINT) USING iceberg "
    "TBLPROPERTIES ('write.delete.mode' = 'merge-on-read', %s)",
    f"INSERT INTO {{t}} SELECT /*+ COALESCE(1) */ id * 2 FROM range({ROWS})",
    f"INSERT INTO {{t}} SELECT /*+ COALESCE(1) */ id * 2 + 1 FROM range({ROWS // 10})",
    "DELETE FROM {t} WHERE hash(id) % 4 = 0",
    "DELETE FROM {t} WHERE hash(id) % 4 = 1",
)


REPEATED = pytest.mark.night("test_large_vectors_are_the_same_for_every_reader")


@pytest.mark.parametrize(
    ("name", "properties"),
    [
        ("large_by_file", "'format-version' = '2', 'write.delete.granularity' = 'file'"),
        pytest.param(
            "large_by_partition",
            "'format-version' = '2', 'write.delete.granularity' = 'partition'",
            marks=REPEATED,
        ),
        pytest.param("large_vectors", "'format-version' = '3'", marks=REPEATED),
    ],
)
def test_large_vectors_are_the_same_for_every_reader(
    full: IcebergReaders, name: str, properties: str
) -> None:
    statements = (STATEMENTS[0] % properties, *STATEMENTS[1:])
    full.check(Written(name, statements, "deletionVectors"))
    large, *small = sorted(vectors(full.recipient, name), key=lambda each: -each["sizeInBytes"])
    assert len(small) == 1
    assert large["sizeInBytes"] > FITS
    served = httpx.get(large["pathOrInlineDv"], timeout=TIMEOUT_SECONDS).content
    assert len(served) == large["offset"] + 4 + large["sizeInBytes"] + 4
