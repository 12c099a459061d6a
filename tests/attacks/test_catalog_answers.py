"""Catalogs whose answers are large, slow, without end, or no answers at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from support.clients.bystander import watched
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration
from support.gateways.shared_lake import asking
from support.servers.hostile_catalog import HostileCatalog, hostile_catalog, inline_metadata
from support.tables.iceberg_by_hand import HandWritten

_GROWTH = 250_000_000  # bytes: an answer of 64 MB at the most, its copies, and what is made of it
_CATALOGS = ("polaris", "unity")


@dataclass
class Attacked:
    """A gateway of two hostile catalogs, and of one table that is in neither."""

    gateway: RunningGateway
    catalog: HostileCatalog
    client: httpx.Client
    bystander: httpx.Client
    lake: Path

    def query(self, table: str) -> httpx.Response:
        return self.client.post(f"/shares/lake/schemas/s/tables/{table}/query", json={})


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    folder = tmp_path_factory.mktemp("catalogs")
    lake = folder / "lake"
    write_deltalake(lake / "quiet", pa.table({"id": [1, 2, 3]}))
    with hostile_catalog() as catalog:
        tables = {
            "quiet": {"catalog": "raw", "table": f"file://{lake}/quiet"},
            "polaris": {"catalog": "polaris", "table": "ns.t"},
            "unity": {"catalog": "unity", "table": "main.s.t"},
        }
        write_configuration(
            folder,
            {
                "catalogs": {
                    "raw": {"type": "paths"},
                    "polaris": {
                        "type": "iceberg",
                        "uri": catalog.uri,
                        "timeout": 4,
                        "credentials": "storage",
                        "max_age": 0,
                    },
                    "unity": {"type": "unity", "uri": catalog.uri, "timeout": 4, "max_age": 0},
                },
                "storage": [{"type": "file", "prefix": f"file://{lake}/"}],
            },
            {
                "shares": {"lake": {"schemas": {"s": {"tables": tables}}}},
                "recipients": {"acme": {"shares": ["lake"]}, "rival": {"shares": ["lake"]}},
            },
        )
        with (
            running_gateway(folder) as gateway,
            asking(gateway.profile("acme")) as client,
            asking(gateway.profile("rival")) as bystander,
        ):
            running = Attacked(gateway, catalog, client, bystander, lake)
            running.query("quiet").raise_for_status()
            yield running
            catalog.over.set()
        assert "Traceback" not in gateway.log


def query_watched(attacked: Attacked, table: str, growth: int = _GROWTH) -> httpx.Response:
    """Query a table of a hostile catalog while the bystander goes on."""
    gateway, bystander = attacked.gateway, attacked.bystander
    requests = (
        bystander.build_request("POST", "/shares/lake/schemas/s/tables/quiet/query", json={}),
        bystander.build_request("GET", f"{gateway.address}/livez"),
    )
    with watched(gateway.process.pid, bystander, requests) as watch:
        answer = attacked.query(table)
    watch.check(growth)
    return answer


_DEEP = b'{"metadata":' * 100_000
_VALUES = b'{"metadata":[' + b"[]," * 10_000_000 + b"0]}"
_WRONG: tuple[object, ...] = (
    [1, 2],
    {"metadata": 7, "metadata-location": [], "name": 7},
    {"metadata": {"location": {}, "table-uuid": 7}, "table_type": []},
    {"name": "t", "table_type": "MANAGED", "data_source_format": {}, "storage_location": 7},
    {"name": "t", "table_type": "MANAGED", "data_source_format": "DELTA", "storage_location": [1]},
)


@pytest.mark.parametrize(
    ("table", "mode"),
    [
        ("polaris", "endless"),
        ("polaris", "slow"),
        ("unity", "bomb"),
        ("unity", "huge"),
        ("unity", "silent"),
        *(
            pytest.param(
                *case, marks=pytest.mark.night("test_an_answer_that_is_none_is_the_catalogs_fault")
            )
            for case in (
                *(("polaris", mode) for mode in ("bomb", "huge", "silent")),
                *(("unity", mode) for mode in ("endless", "slow")),
            )
        ),
    ],
)
def test_an_answer_that_is_none_is_the_catalogs_fault(
    attacked: Attacked, table: str, mode: str
) -> None:
    attacked.catalog.mode = mode
    refused(query_watched(attacked, table), table)


@pytest.mark.parametrize(
    ("table", "body"),
    [
        pytest.param("polaris", _VALUES, id="polaris-many values"),
        pytest.param("unity", _DEEP, id="unity-deep"),
        *(
            pytest.param(
                *case,
                id=f"{case[0]}-other",
                marks=pytest.mark.night(
                    "test_json_that_takes_more_than_its_bytes_is_the_catalogs_fault"
                ),
            )
            for case in (("polaris", _DEEP), ("unity", _VALUES))
        ),
    ],
)
def test_json_that_takes_more_than_its_bytes_is_the_catalogs_fault(
    attacked: Attacked, table: str, body: bytes
) -> None:
    attacked.catalog.mode = body
    refused(query_watched(attacked, table), table)


@pytest.mark.parametrize("document", _WRONG)
def test_answers_of_other_types_are_the_catalogs_fault(attacked: Attacked, document: object) -> None:
    attacked.catalog.mode = json.dumps(document).encode()
    for table in _CATALOGS:
        answer = query_watched(attacked, table)
        assert answer.status_code in (400, 503), answer.text


def test_large_metadata_in_an_answer_is_read(attacked: Attacked) -> None:
    table = HandWritten(attacked.lake / "large")
    table.write()
    attacked.catalog.mode = body = inline_metadata(table.location, 250_000)
    assert 40_000_000 < len(body) < 60_000_000
    answer = query_watched(attacked, "polaris", 500_000_000)
    assert answer.status_code == 200, answer.text


def refused(answer: httpx.Response, catalog: str) -> None:
    assert answer.status_code == 503, answer.text
    assert answer.json()["errorCode"] == "TEMPORARILY_UNAVAILABLE"
    assert f"the catalog '{catalog}'" in answer.json()["message"]
