"""Random histories: changes lead from the rows of one version to those of another."""

from __future__ import annotations

import random
from collections.abc import Iterator

import httpx
import pytest
from histories.versions import Version, Versions
from pyiceberg.table import Table
from support.gateways.iceberg_sharing import IcebergSharing
from support.gateways.shared_lake import LakeTable, asking
from support.process.random_cases import cases
from support.tables.iceberg_history import SCHEMA, IcebergHistory, numbered_snapshots

_LENGTH = 10
_RANGES = 3

# Of PyIceberg, where nothing is left to delete.
pytestmark = pytest.mark.filterwarnings("ignore:Delete operation did not match any records:UserWarning")


@pytest.fixture(scope="module")
def client(lake: IcebergSharing) -> Iterator[httpx.Client]:
    with asking(lake.recipient.profile) as client:
        yield client


@pytest.mark.parametrize("seed", range(cases(8)))
def test_changes_lead_from_version_to_version(
    lake: IcebergSharing, client: httpx.Client, seed: int
) -> None:
    name, table = lake.table(SCHEMA)
    history = IcebergHistory(table, seed, stable=True)
    for _ in range(_LENGTH):
        history.change()
    print(history.done)  # all that is needed to repeat it, where this fails
    known = versions(table)
    checks = Versions(client, client, LakeTable(name, lake.folder / name), known)
    checks.check_travel()
    checks.check_changes(0, len(known) - 1)
    dice = random.Random(seed)
    for _ in range(_RANGES):
        first, last = sorted(dice.choices(range(len(known)), k=2))
        checks.check_changes(first, last)


def versions(table: Table) -> list[Version]:
    """What PyIceberg reads of each of them."""
    return [
        Version(number, snapshot.timestamp_ms, table.scan(snapshot_id=snapshot.snapshot_id).to_arrow())
        for number, snapshot in numbered_snapshots(table)
    ]
