"""After a gateway is ready, no first request about a table imports a module."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration
from support.gateways.s3_lake import storage_of, write_table
from support.gateways.shared_lake import asking
from support.process.installed import Site

from sluicegate_testing.servers.seaweedfs import SeaweedFS

_MODULES = """
import sys
from sluicegate.api import hookimpl
from starlette.responses import JSONResponse
from starlette.routing import Route

@hookimpl
def sluicegate_register_routes(services):
    async def modules(request):
        return JSONResponse(sorted(sys.modules))
    return [Route("/modules", modules)]
"""
_TABLE = "/shares/sales/schemas/eu/tables/orders"
_ROWS = pa.table({"id": [1, 2], "day": ["2026-01-01", "2026-01-02"]})
_FEED = {"delta.enableChangeDataFeed": "true"}
_PREDICATE = {
    "op": "equal",
    "children": [
        {"op": "column", "name": "id", "valueType": "long"},
        {"op": "literal", "value": "1", "valueType": "long"},
    ],
}
_DELTA = {"delta-sharing-capabilities": "responseformat=delta;readerfeatures=deletionvectors"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as running:
        write_table(running, "orders", _ROWS, configuration=_FEED, partition_by=["day"])
        yield running


@pytest.fixture
def served(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[RunningGateway, httpx.Client]]:
    """A gateway in front of the storage that the test names, whose modules can be listed."""
    storage: Mapping[str, Any]
    if request.param == "s3":
        storage = storage_of(request.getfixturevalue("store"))
    else:
        storage = {"type": "file", "prefix": f"file://{tmp_path}/lake/"}
        lake = tmp_path / "lake" / "orders"
        write_deltalake(lake, _ROWS, configuration=_FEED, partition_by=["day"])
    folder = tmp_path / "site"
    folder.mkdir()
    Site(folder).install("modules", _MODULES)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    orders = {
        "catalog": "raw",
        "table": f"{storage['prefix']}orders",
        "history": True,
        "change_feed": True,
    }
    write_configuration(
        tmp_path / "gateway",
        {"catalogs": {"raw": {"type": "paths"}}, "storage": [storage], "plugins": ["modules"]},
        {
            "shares": {"sales": {"schemas": {"eu": {"tables": {"orders": orders}}}}},
            "recipients": {"acme": {"shares": ["sales"]}},
        },
    )
    with (
        running_gateway(tmp_path / "gateway") as gateway,
        asking(gateway.profile("acme")) as client,
    ):
        yield gateway, client


def _modules(gateway: RunningGateway) -> set[str]:
    return set(httpx.get(f"{gateway.address}/modules").json())


@pytest.mark.parametrize("served", ["file", "s3"], indirect=True)
def test_no_first_request_about_a_table_imports_a_module(
    served: tuple[RunningGateway, httpx.Client],
) -> None:
    gateway, client = served
    before = _modules(gateway)
    hints = {"predicateHints": ["day = '2026-01-01'"], "jsonPredicateHints": json.dumps(_PREDICATE)}
    answers = [
        client.post(f"{_TABLE}/query", json={}),
        client.post(f"{_TABLE}/query", json={"limitHint": 1, **hints}, headers=_DELTA),
        client.post(f"{_TABLE}/query", json={"version": 0, "maxFiles": 1}),
        client.get(f"{_TABLE}/metadata"),
        client.get(f"{_TABLE}/version"),
        client.get(f"{_TABLE}/changes?startingVersion=0", headers=_DELTA),
    ]
    assert [answer.status_code for answer in answers] == [200] * len(answers), answers
    assert _modules(gateway) - before == set()
