"""A cache between a recipient and the gateway keeps no URL, no credential and no byte of a table."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from support.gateways.attacked import Attacked
from support.gateways.shared_lake import LakeTable

from sluicegate.protocols.file_links.conditions import Validators
from sluicegate.protocols.file_links.responses import respond_bytes

ASYNC = {"delta-sharing-capabilities": "asyncquery=true"}
DELTA = {"delta-sharing-capabilities": "responseformat=delta;includeendstreamaction=true"}


@pytest.fixture(scope="module")
def table(attacked: Attacked) -> LakeTable:
    table = attacked.lake.table()
    on = {"delta.enableChangeDataFeed": "true"}
    for number in range(2):
        write_deltalake(table.root, pa.table({"id": [number]}), mode="append", configuration=on)
    return table


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ({}, {}),
        ({}, DELTA),
        ({}, ASYNC),
        ({"maxFiles": 1}, {}),
        ({"includeRefreshToken": True}, DELTA),
        ({"startingVersion": 0}, {}),
        ({"version": 99}, {}),
    ],
)
def test_answers_to_queries_are_not_stored(
    attacked: Attacked, table: LakeTable, body: dict[str, object], headers: dict[str, str]
) -> None:
    answer = attacked.attacker.post(f"{table.path()}/query", json=body, headers=headers)
    assert answer.headers["cache-control"] == "private, no-store", answer.text


@pytest.mark.parametrize("place", ["changes?startingVersion=0", "metadata"])
def test_answers_to_other_reads_are_not_stored(
    attacked: Attacked, table: LakeTable, place: str
) -> None:
    answer = attacked.attacker.get(f"{table.path()}/{place}")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "private, no-store")


@pytest.fixture(scope="module")
def link(attacked: Attacked, table: LakeTable) -> str:
    lines = attacked.attacker.post(f"{table.path()}/query", json={}).text.splitlines()
    url: str = httpx.Response(200, text=lines[-1]).json()["file"]["url"]
    return url


@pytest.fixture(scope="module")
def anybody() -> Iterator[httpx.Client]:
    with httpx.Client() as client:
        yield client


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("GET", {}, 200),
        ("HEAD", {}, 200),
        ("GET", {"range": "bytes=0-3"}, 206),
        ("GET", {"if-none-match": "*"}, 304),
        ("GET", {"if-match": '"another"'}, 412),
        ("GET", {"range": "bytes=99999999-"}, 416),
    ],
)
def test_bytes_of_links_are_not_stored(
    anybody: httpx.Client, link: str, method: str, headers: dict[str, str], status: int
) -> None:
    answer = anybody.request(method, link, headers=headers)
    assert (answer.status_code, answer.headers["cache-control"]) == (status, "private, no-store")


def test_the_refusal_of_a_link_is_not_stored(anybody: httpx.Client, link: str) -> None:
    answer = anybody.get(f"{link}0")
    assert (answer.status_code, answer.headers["cache-control"]) == (403, "private, no-store")


def test_bytes_of_derived_files_are_not_stored() -> None:
    answer = respond_bytes(b"vector", Validators('"x"'), "GET", {})
    assert answer.headers["cache-control"] == "private, no-store"
