"""Tables with other spellings, cleaned logs and vacuumed files, read by Spark: the expected rows."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from spark.test_reader_tables import READABLE
from support.process.random_cases import times
from support.tables.reader_tables.altered import AlteredTables
from support.tables.rows import rows_in

from sluicegate.cli.demo.reading import difference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NUMBER = 200 if times() > 1 else 6  # at night, and for each change
_SEEDS = range(NUMBER // len(READABLE) + 1)
CASES = [
    (seed, name) for seed in _SEEDS for name in random.Random(seed).sample(READABLE, len(READABLE))
][:NUMBER]


@pytest.mark.parametrize(("seed", "name"), CASES)
def test_spark_reads_the_expected_rows(
    spark: SparkSession, tmp_path: Path, seed: int, name: str
) -> None:
    table = AlteredTables(tmp_path, seed, {}, is_weakened=False).table(name)
    assert isinstance(table.expected, Path)
    found = spark.read.format("delta").load(f"file://{table.location}").toArrow()
    assert difference(rows_in(table.expected), found.to_pandas(date_as_object=True)) is None
