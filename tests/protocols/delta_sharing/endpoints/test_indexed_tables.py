"""Answers from a snapshot index are those from the table's log."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow.parquet as pq
import pytest
from support.gateways.shared_lake import ACME, LakeTable, SharedLake, shared_lake
from support.tables.deltalog import add
from support.tables.random_log import RandomTable

from sluicegate.tables.snapshot_index.writing import building

BODIES: tuple[Mapping[str, Any], ...] = (
    {},
    {"predicateHints": ["id > 40"]},
    {"predicateHints": ["country = 'DE'", "id < 60"]},
    {"predicateHints": ["country IS NULL"]},
    {"predicateHints": ["id < 0"]},
    {"maxFiles": 3},
    {"maxFiles": 2, "predicateHints": ["id > 20"]},
)
INDEXED = 6  # the version
_OF_LOCATION = ("expirationTimestamp", "deletionVectorFileId")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedLake]:
    folder = tmp_path_factory.mktemp("indexed")
    index = {"location": f"file://{folder}/index", "min_files": 1}
    with shared_lake(folder, tables=20, settings={"index": index}) as running:
        yield running


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "build_index", partial(building.build_index, part_rows=4))


@pytest.fixture
def pair(lake: SharedLake, request: pytest.FixtureRequest) -> tuple[LakeTable, LakeTable]:
    """A table, and a copy of it that has an index, and no longer the log before that."""
    plain, indexed = lake.table(), lake.table()
    table = RandomTable(plain.folder, getattr(request, "param", 0))
    while table.version < INDEXED:
        table.commit()
    shutil.copytree(plain.root, indexed.root)
    built = lake.gateway.command("index", "build", "raw", f"file://{indexed.root}")
    assert built.startswith(f"indexed version {INDEXED} of file://{indexed.root}: ")
    for version in range(INDEXED):
        (indexed.folder.log / f"{version:020}.json").unlink()
    for _ in range(3):
        table.commit()
        shutil.copy2(plain.folder.log / f"{table.version:020}.json", indexed.folder.log)
    return plain, indexed


def answers(
    lake: SharedLake, table: LakeTable, schema: str, body: Mapping[str, Any], capable: str
) -> list[list[Any]]:
    """The lines of all pages, without what differs between equal tables of different names."""
    pages: list[list[Any]] = []
    headers = {"delta-sharing-capabilities": f"responseformat={capable}"}
    while True:
        answer = lake.client(ACME).post(f"{table.path(schema)}/query", json=body, headers=headers)
        if answer.status_code != 200:
            return [*pages, [answer.status_code, answer.json()["errorCode"]]]
        lines = [json.loads(line) for line in answer.text.splitlines()]
        token = None
        if "endStreamAction" in lines[-1]:
            token = lines.pop()["endStreamAction"].get("nextPageToken")
        version = answer.headers["delta-table-version"]
        pages.append([version, *lines[:2], *sorted(_comparable(line, table) for line in lines[2:])])
        if not token:
            return pages
        body = {**body, "pageToken": token}


def _comparable(line: Any, table: LakeTable) -> str:
    """A file without its signature, and without what depends on the name of its table."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(each) for key, each in value.items() if key not in _OF_LOCATION}
        if isinstance(value, str) and value.startswith("http"):
            return urlsplit(value).path.rpartition(f"/{table.name}/")[2]
        return value

    return json.dumps(plain(line), sort_keys=True)


@pytest.mark.parametrize("pair", [1, 2], indirect=True)
def test_answers_are_the_same(lake: SharedLake, pair: tuple[LakeTable, LakeTable]) -> None:
    plain, indexed = pair
    versions: list[dict[str, Any]] = [{}, {"version": INDEXED}, {"version": INDEXED + 2}]
    delta = "delta;readerfeatures=deletionvectors;includeendstreamaction=true"
    for schema in ("full", "german", "mine", "recent", "plain"):
        for body in (*BODIES, *versions):
            expected = answers(lake, plain, schema, body, delta)
            assert answers(lake, indexed, schema, body, delta) == expected
    assert not lake.gateway.log.count("is not used")


def test_versions_and_metadata_are_the_same(
    lake: SharedLake, pair: tuple[LakeTable, LakeTable]
) -> None:
    headers = {"delta-sharing-capabilities": "responseformat=delta;readerfeatures=deletionvectors"}
    for schema in ("full", "german"):
        metadata, versions = [], []
        for table in pair:
            answer = lake.client(ACME).get(f"{table.path(schema)}/metadata", headers=headers)
            metadata.append(answer.text)
            versions.append(
                lake.client(ACME).get(f"{table.path(schema)}/version").headers["delta-table-version"]
            )
        assert metadata[0] == metadata[1]
        assert versions == [str(INDEXED + 3)] * 2


def test_a_limit_returns_enough_files(lake: SharedLake, pair: tuple[LakeTable, LakeTable]) -> None:
    capable = "delta;readerfeatures=deletionvectors"
    (every,) = answers(lake, pair[1], "full", {}, capable)
    (some,) = answers(lake, pair[1], "full", {"limitHint": 1}, capable)
    assert set(some[3:]) <= set(every[3:])
    assert len(some) > 3


def test_versions_before_the_index_need_the_log(
    lake: SharedLake, pair: tuple[LakeTable, LakeTable]
) -> None:
    capable = "delta;readerfeatures=deletionvectors"
    (answer,) = answers(lake, pair[1], "full", {"version": INDEXED - 1}, capable)
    assert answer[0] == 400


@pytest.mark.parametrize("what", ["parts", "manifest", "foreign"])
def test_a_damaged_index_is_not_used(lake: SharedLake, what: str) -> None:
    plain, indexed = lake.table(), lake.table()
    table = RandomTable(plain.folder, 7)
    while table.version < INDEXED:
        table.commit()
    shutil.copytree(plain.root, indexed.root)
    of_table = _built(lake, indexed)
    _damage(of_table, what)
    capable = "delta;readerfeatures=deletionvectors"
    for body in BODIES:
        expected = answers(lake, plain, "full", body, capable)
        assert answers(lake, indexed, "full", body, capable) == expected
    assert lake.gateway.logs(f"the snapshot index {of_table.name} is not used")


def test_a_part_that_is_damaged_ends_only_one_response(lake: SharedLake) -> None:
    plain, indexed = lake.table(), lake.table()
    table = RandomTable(plain.folder, 9)
    table.commit(
        *(add(f"more{number}", size=1, partitionValues={"country": "FR"}) for number in range(80))
    )
    shutil.copytree(plain.root, indexed.root)
    parts = _parts(_built(lake, indexed))
    assert len(parts) > 16
    parts[-1].write_bytes(b"")
    capable = "delta;readerfeatures=deletionvectors;includeendstreamaction=true"
    headers = {"delta-sharing-capabilities": f"responseformat={capable}"}
    broken = lake.client(ACME).post(f"{indexed.path()}/query", json={}, headers=headers)
    *_, last = broken.text.splitlines()
    message = "a part of the table's index is damaged: send the request again"
    assert json.loads(last)["endStreamAction"]["errorMessage"] == message
    expected = answers(lake, plain, "full", {}, capable)
    assert answers(lake, indexed, "full", {}, capable) == expected


def _built(lake: SharedLake, table: LakeTable) -> Path:
    """Build the index of a table, and return the folder that contains it."""
    folder = lake.gateway.folder / "index"
    before = set(folder.iterdir()) if folder.exists() else set()
    lake.gateway.command("index", "build", "raw", f"file://{table.root}")
    (of_table,) = set(folder.iterdir()) - before
    return of_table


def _parts(folder: Path) -> list[Path]:
    """The files of the parts of an index, in the order in which they are read."""
    content = json.loads(json.loads((folder / "manifest.json").read_text())["payload"])
    summary = pq.read_table(folder / f"{content['summary']['digest']}.parquet")
    return [folder / f"{name}.parquet" for name in summary.column("digest").to_pylist()]


def _damage(folder: Path, what: str) -> None:
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
