"""Random histories of Iceberg tables with merge on read: all protocols return what Spark wrote."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest
from histories.generate import history
from histories.history import ColumnMapping, Flavour
from histories.versions import Versions
from spark.iceberg_readers import IcebergReaders
from spark.iceberg_writer import IcebergWriter
from support.gateways.iceberg_rest import SCHEMA, SHARE
from support.gateways.shared_lake import asking
from support.process.random_cases import times

SEEDS = times()
LENGTH = 4

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("iceberg"),
    pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
]


@dataclass(frozen=True)
class SharedTable:
    """A table of the share, in the form that `GatewayTable` needs."""

    name: str

    def path(self) -> str:
        """Return its path below the endpoint."""
        return f"/shares/{SHARE}/schemas/{SCHEMA}/tables/{self.name}"


REPEATED = pytest.mark.night("test_every_protocol_shows_what_spark_writes")


@pytest.fixture(scope="module")
def clients(full: IcebergReaders) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    """A client of the gateway, and one that fetches the URLs that it returns."""
    with asking(full.recipient.profile) as gateway, httpx.Client() as store:
        yield gateway, store


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize(
    ("format_version", "mapping"),
    [
        pytest.param(2, "none", id="2-stable"),
        pytest.param(3, "name", id="3-renamed"),
        pytest.param(2, "name", id="2-renamed", marks=REPEATED),
        pytest.param(3, "none", id="3-stable", marks=REPEATED),
    ],
)
def test_every_protocol_shows_what_spark_writes(
    full: IcebergReaders,
    clients: tuple[httpx.Client, httpx.Client],
    format_version: int,
    mapping: ColumnMapping,
    seed: int,
) -> None:
    past = history(seed, Flavour(column_mapping=mapping), LENGTH)
    print(past)  # all that is needed to repeat it, where this fails
    writer = IcebergWriter(full, past, format_version)
    for operation in past.operations:
        writer.apply(operation)
        plain = mapping == "none" and not writer.has_deletes
        full.compare(writer.name, parquet="" if plain else None)
    if mapping == "none":
        check_versions(Versions(*clients, SharedTable(writer.name), writer.versions()), writer, seed)


def check_versions(checks: Versions, writer: IcebergWriter, seed: int) -> None:
    """Check time travel, and changes between versions if the previous version is known."""
    checks.check_travel()
    first, last = int(writer.has_forgotten), len(checks) - 1
    if first <= last:
        checks.check_changes(first, last)
        checks.check_changes(random.Random(seed).randint(first, last), last)
