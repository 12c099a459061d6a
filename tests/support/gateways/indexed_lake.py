"""A lake whose tables can have snapshot indexes, and pairs of equal tables with and without one."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.gateways.shared_lake import LakeTable, SharedLake, shared_lake
from support.tables.random_log import RandomTable

from sluicegate.tables.snapshot_index.writing import building

INDEXED = 6
"""The indexed version of the tables of `indexed_pair`."""


@contextmanager
def indexed_lake(folder: Path) -> Iterator[SharedLake]:
    """Serve a lake until the block ends."""
    index = {"location": f"file://{folder}/index", "min_files": 1}
    with shared_lake(folder, tables=20, settings={"index": index}) as running:
        yield running


def indexed_pair(lake: SharedLake, seed: int) -> tuple[LakeTable, LakeTable]:
    """A random table, and a copy of it that has an index, and whose log cannot be read before that.

    Three commits follow the indexed version.
    """
    plain, indexed, table = copied_table(lake, seed)
    build_index(lake, indexed)
    damage_log(indexed, INDEXED)
    for _ in range(3):
        table.commit()
        shutil.copy2(plain.folder.log / f"{table.version:020}.json", indexed.folder.log)
    return plain, indexed


def copied_table(lake: SharedLake, seed: int) -> tuple[LakeTable, LakeTable, RandomTable]:
    """Two equal tables at the version `INDEXED`, and what commits to the first of them."""
    plain, copy = lake.table(), lake.table()
    table = RandomTable(plain.folder, seed)
    while table.version < INDEXED:
        table.commit()
    shutil.copytree(plain.root, copy.root)
    return plain, copy, table


def damage_log(table: LakeTable, before: int) -> None:
    """Damage the commits before a version, so that the table cannot be read from its log."""
    for version in range(before):
        commit = table.folder.log / f"{version:020}.json"
        times = commit.stat()
        commit.write_text("damaged")
        os.utime(commit, (times.st_atime, times.st_mtime))


def build_index(lake: SharedLake, table: LakeTable) -> Path:
    """Build the index of a table, with small parts, and return the folder that contains it."""
    folder = lake.gateway.folder / "index"
    before = set(folder.iterdir()) if folder.exists() else set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "build_index", partial(building.build_index, part_rows=4))
        built = lake.gateway.command("index", "build", "raw", f"file://{table.root}")
    assert built.startswith("indexed version ")
    (of_table,) = set(folder.iterdir()) - before
    return of_table


def part_files(folder: Path) -> list[Path]:
    """The files of the parts of an index, in the order in which they are read."""
    content = json.loads(json.loads((folder / "manifest.json").read_text())["payload"])
    summary = pq.read_table(folder / f"{content['summary']['digest']}.parquet")
    return [folder / f"{name}.parquet" for name in summary.column("digest").to_pylist()]


def damage_index(folder: Path, what: str) -> None:
    """Damage an index."""
    manifest = folder / "manifest.json"
    if what == "parts":
        for file in folder.glob("*.parquet"):
            content = bytearray(file.read_bytes())
            content[len(content) // 2] ^= 1
            file.write_bytes(bytes(content))
    elif what == "manifest":
        manifest.write_bytes(manifest.read_bytes()[:-10])
    else:
        document = json.loads(manifest.read_text())
        document["payload"] = document["payload"].replace('"files":', '"files":1')
        manifest.write_text(json.dumps(document))
