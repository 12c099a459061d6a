"""One gateway over local files, with tables that can be served and tables that cannot."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from support.gateway import RunningGateway, running_gateway, write_configuration
from support.golden import GoldenTables

VECTORS, MAPPED, FUTURE = (
    "dv-partitioned-with-checkpoint",
    "table-with-columnmapping-mode-name",
    "deltalog-invalid-protocol-version",
)


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    folder = tmp_path_factory.mktemp("protocol")
    lake = folder / "lake"
    _write_tables(lake, GoldenTables(tmp_path_factory.mktemp("golden")))

    def table(name: str, **options: object) -> dict[str, object]:
        return {"catalog": "raw", "table": f"file://{lake}/{name}", **options}

    tables = {
        "Orders": table("orders", history=True, comment="Sold things"),
        "recent": table("orders", history=True, start_version=2),
        "plain": table("orders"),
        "vectors": table(VECTORS, history=True),
        "mapped": table(MAPPED),
        "future": table(FUTURE),
        "corrupt": table("corrupt"),
        "gone": table("gone"),
        "moving": table("moving"),
        "nowhere": {"catalog": "raw", "table": "s3://unserved/t"},
        "directory": table("orders", access_modes=["dir"]),
        "part": table("orders", history=True, partition_filter="country = 'DE'"),
        "mine": table("orders", partition_filter="COUNTRY = recipient.country"),
        "misfiltered": table("orders", partition_filter="id = '1'"),
    }
    write_configuration(
        folder,
        {
            "catalogs": {"raw": {"type": "paths"}},
            "storage": [{"type": "file", "prefix": f"file://{lake}/"}],
        },
        {
            "shares": {
                "sales": {
                    "comment": "Sales",
                    "schemas": {"EU": {"tables": tables}, "us": {"tables": {}}},
                },
                "secret": {"schemas": {"eu": {"tables": {"orders": table("orders")}}}},
            },
            "recipients": {
                "acme": {"shares": ["sales"], "properties": {"country": "FR"}},
                "rival": {"shares": ["sales"]},
                "far": {"shares": ["sales"], "allow_from": ["203.0.113.0/24"]},
            },
        },
    )
    with running_gateway(folder) as running:
        yield running


@pytest.fixture(scope="session")
def token(gateway: RunningGateway) -> str:
    return _token(gateway, "acme")


@pytest.fixture(scope="session")
def rival_token(gateway: RunningGateway) -> str:
    return _token(gateway, "rival")


@pytest.fixture(scope="session")
def far_token(gateway: RunningGateway) -> str:
    return _token(gateway, "far")


@pytest.fixture
def client(gateway: RunningGateway, token: str) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=gateway.endpoint, headers=headers, timeout=30) as made:
        yield made


def _token(gateway: RunningGateway, recipient: str) -> str:
    profile: dict[str, str] = json.loads(gateway.profile(recipient).read_text())
    return profile["bearerToken"]


def _write_tables(lake: Path, golden: GoldenTables) -> None:
    for version in range(4):
        rows = pa.table({"id": [version * 10 + 1, version * 10 + 2], "country": ["DE", "FR"]})
        write_deltalake(lake / "orders", rows, mode="append", partition_by=["country"])
    for number in range(4):
        write_deltalake(lake / "moving", pa.table({"id": [number]}), mode="append")
    for name in (VECTORS, MAPPED, FUTURE):
        shutil.copytree(golden.table(name).location, lake / name)
    log = lake / "corrupt" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text('{"protocol": nonsense')
