"""Answers from a snapshot index are those from the table's log."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.gateways.indexed_lake import (
    INDEXED,
    build_index,
    copied_table,
    damage_index,
    indexed_lake,
    indexed_pair,
    part_files,
)
from support.gateways.shared_lake import ACME, LakeTable, SharedLake
from support.tables.deltalog import add
from support.tables.random_log import RandomTable

BODIES: tuple[Mapping[str, Any], ...] = (
    {},
    {"predicateHints": ["id > 40"]},
    {"predicateHints": ["country = 'DE'", "id < 60"]},
    {"predicateHints": ["country IS NULL"]},
    {"predicateHints": ["id < 0"]},
    {"maxFiles": 3},
    {"maxFiles": 2, "predicateHints": ["id > 20"]},
)
_OF_LOCATION = ("expirationTimestamp", "deletionVectorFileId")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedLake]:
    with indexed_lake(tmp_path_factory.mktemp("indexed")) as running:
        yield running


@pytest.fixture
def pair(lake: SharedLake, request: pytest.FixtureRequest) -> tuple[LakeTable, LakeTable]:
    return indexed_pair(lake, getattr(request, "param", 0))


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
    at = f"1970-01-01T00:00:{INDEXED + 2:02}Z"  # of the version after the indexed one
    versions: list[dict[str, Any]] = [
        {},
        {"version": INDEXED},
        {"version": INDEXED + 2},
        {"timestamp": at},
    ]
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
    plain, indexed, _ = copied_table(lake, 7)
    of_table = build_index(lake, indexed)
    damage_index(of_table, what)
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
    parts = part_files(build_index(lake, indexed))
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
