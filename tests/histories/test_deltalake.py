"""Random histories of plain tables, with deltalake as their writer and as the oracle."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from histories.checks import Comparison
from histories.deltalake_table import DeltalakeTable
from histories.fetching import Fetching
from histories.generate import history
from histories.history import Flavour
from histories.oracle import FeedOff, Gone, NoResponse
from histories.responses import PARQUET, GatewayTable
from histories.unkind import UnkindCopy
from support.clients.iceberg_reading import IcebergReading
from support.gateways.shared_lake import ACME, SHARE, SharedLake
from support.process.random_cases import cases, times
from support.tables.rows import assert_same_rows

PLAIN = Flavour()
SEEDS = range(cases(150) if times() > 1 else 10)
LENGTH = 14
RANGES = 4
# The official client reads each version twice, and all changes since each of them.
CLIENT_LENGTH = LENGTH if times() > 1 else 5
CLIENT_SEEDS = range(1000, 1000 + (2 * times() if times() > 1 else 1))

pytestmark = [
    pytest.mark.slow,
    # What the client does where a file has only nulls in a column.
    pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning"),
    # After an empty response in delta format the client leaves its folder to the garbage collector.
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_recipient_gets_what_the_writer_says(lake: SharedLake, tmp_path: Path, seed: int) -> None:
    """The log of every other table was not left as deltalake wrote it (`histories.unkind`)."""
    past = history(seed, PLAIN, LENGTH)
    print(past)  # all that is needed to repeat it, where this fails
    table, client = lake.table(), lake.client()
    written = tmp_path / "written" if seed % 2 else table.root
    copy = UnkindCopy(written, table.root, seed) if seed % 2 else None
    oracle = DeltalakeTable(written, past)
    same = Comparison(oracle, GatewayTable(client, table, PARQUET), Fetching(client), copy)
    for operation in past.operations:
        same.after(operation)
    latest, dice = oracle.version(), random.Random(seed)
    for version in range(latest + 1):
        same.at_version(version, read_again=True)
        later = dice.choice([0, 1, 30_000, 59_999]) if version < latest else 0
        same.at_time(oracle.timestamp(version) + later)
    for _ in range(RANGES):
        first = dice.randint(0, latest)
        last = dice.randint(first, latest)
        same.changes(first, last)
        same.stream(first, last)
    same.listed(IcebergReading(lake.profiles[ACME], SHARE, ("full", table.name), seed // 2))


@pytest.mark.parametrize("seed", CLIENT_SEEDS)
def test_the_official_client_gets_it_in_each_of_its_modes(lake: SharedLake, seed: int) -> None:
    past = history(seed, PLAIN, CLIENT_LENGTH)
    print(past)
    table, recipient = lake.table(), lake.recipient()
    oracle = DeltalakeTable(table.root, past)
    for operation in past.operations:
        oracle.apply(operation)
    for version in range(oracle.version() + 1):
        try:
            expected = oracle.rows(version)
        except Gone:
            continue
        for use_delta_format in (False, True):
            frame = recipient.read(table.name, use_delta_format=use_delta_format, version=version)
            assert_same_rows(expected, frame)
    for first in range(oracle.version() + 1):
        try:
            expected = oracle.changes(first, oracle.version())
        except (FeedOff, Gone, NoResponse):
            continue
        # The client's kernel reads no range in which the schema changes.
        frame = recipient.changes(table.name, use_delta_format=False, starting_version=first)
        assert_same_rows(expected.select(list(frame.columns)), frame)
