"""Tables that deltalake writes, version by version against deltalake itself."""

from __future__ import annotations

import random
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from support.process.random_cases import cases
from support.tables.deltalog import DeltaFolder
from support.tables.snapshots import at_version, latest, paths, rows

from sluicegate.tables.delta import DeltaFormat
from sluicegate.tables.snapshot import Snapshot

VERSIONS = 25


def step(root: Path, dice: random.Random, number: int) -> None:
    """One more version of a table."""
    data = pa.table({"p": [f"{number % 3} %/ü"] * 4, "n": [number * 4 + row for row in range(4)]})
    kind = dice.choice(["append", "append", "append", "overwrite", "delete", "optimize"])
    if number == 0 or kind == "append":
        write_deltalake(root, data, mode="append", partition_by=["p"])
    elif kind == "overwrite":
        write_deltalake(root, data, mode="overwrite", predicate=f"p = '{number % 3} %/ü'")
    elif kind == "delete":
        DeltaTable(root).delete(f"n % 7 = {dice.randrange(7)}")
    else:
        DeltaTable(root).optimize.compact()
    if dice.random() < 0.2:
        DeltaTable(root).create_checkpoint()


def assert_same(snapshot: Snapshot, oracle: DeltaTable) -> None:
    assert snapshot.version == oracle.version()
    actions = pa.table(oracle.get_add_actions())
    assert sorted(map(unquote, actions.column("path").to_pylist())) == paths(snapshot)
    records = sum(row["stats"]["numRecords"] for row in rows(snapshot))
    assert records == pa.table(oracle.to_pyarrow_table()).num_rows


@pytest.mark.parametrize("seed", range(cases(4)))
async def test_every_version_has_the_files_that_its_writer_says(tmp_path: Path, seed: int) -> None:
    folder = DeltaFolder(tmp_path / "table")
    dice = random.Random(seed)
    snapshot: Snapshot | None = None
    for number in range(VERSIONS):
        step(folder.root, dice, number)
        snapshot = await latest(folder, snapshot)
        assert_same(snapshot, DeltaTable(folder.root))
    assert snapshot is not None
    for version in range(snapshot.version + 1):
        assert_same(await at_version(folder, version), DeltaTable(folder.root, version=version))


async def test_timestamps_name_the_versions_that_the_writers_history_has(tmp_path: Path) -> None:
    folder = DeltaFolder(tmp_path / "table")
    dice = random.Random(1)
    for number in range(5):
        step(folder.root, dice, number)
    newest = await latest(folder)
    for version in range(newest.version + 1):
        timestamp = (await at_version(folder, version)).timestamp
        found = await DeltaFormat().version_at(
            folder.table(), folder.directory, newest, timestamp, earliest_after=False
        )
        assert found == version
