"""Random histories of tables with deletion vectors and column mapping, compared with Spark."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from histories.checks import Comparison
from histories.fetching import KernelFetching
from histories.generate import history
from histories.history import Flavour
from histories.responses import DELTA, GatewayTable
from histories.unkind import UnkindCopy
from spark.table import SparkTable
from support.clients.iceberg_reading import IcebergReading
from support.gateways.shared_lake import ACME, SHARE, SharedLake
from support.process.random_cases import times

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

VECTORS = Flavour(deletion_vectors=True)
SEEDS = 2 * times()
LENGTH = 4
RANGES = 2
FLAVOURS = [
    Flavour(deletion_vectors=True, column_mapping="id"),
    VECTORS,
    Flavour(column_mapping="name"),
    Flavour(deletion_vectors=True, column_mapping="name"),
]


@pytest.mark.parametrize(
    ("flavour", "seed"),
    [
        pytest.param(flavour, seed, id=f"{flavour}-{seed}")
        for flavour in (FLAVOURS if times() > 1 else FLAVOURS[:1])
        for seed in (range(SEEDS) if times() > 1 else [1])
    ],
)
def test_a_recipient_gets_what_spark_says(
    lake: SharedLake, spark: SparkSession, tmp_path: Path, flavour: Flavour, seed: int
) -> None:
    """The log of every other table was not left as Spark wrote it (`histories.unkind`)."""
    past = history(seed, flavour, LENGTH)
    print(past)  # all that is needed to repeat it, where this fails
    table, client = lake.table(), lake.client()
    written = tmp_path / "written" if seed % 2 else table.root
    vectors = flavour.deletion_vectors
    copy = UnkindCopy(written, table.root, seed, vectors=vectors) if seed % 2 else None
    oracle = SparkTable(spark, written, past)
    same = Comparison(oracle, GatewayTable(client, table, DELTA), KernelFetching(client), copy)
    for operation in past.operations:
        same.after(operation)
    latest, dice = oracle.version(), random.Random(seed)
    again = dice.randint(0, latest)
    for version in range(latest + 1):
        same.at_version(version, read_again=version == again)
        same.at_time(oracle.timestamp(version))
    for _ in range(RANGES):
        first = dice.randint(0, latest)
        last = dice.randint(first, latest)
        same.changes(first, last)
    same.stream(0, latest)
    same.listed(IcebergReading(lake.profiles[ACME], SHARE, ("full", table.name), seed // 2))
