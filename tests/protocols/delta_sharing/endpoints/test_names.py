"""Names that are allowed ("Names") are found, however a client puts them into an address."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
import requests
from support.gateways.gateway import run_here, write_configuration
from support.gateways.in_process import InProcessGateway, Request, in_process_gateway
from support.tables.deltalog import DeltaFolder, add, metadata, protocol

from sluicegate.config import load_settings

NAMES = (
    "plain",
    "caf\xe9",
    "\u65e5\u672c",
    "a+b",
    "a&b=c",
    "x;y",
    "(1)",
    "it's",
    "a,b",
    "~",
    "x" * 255,
)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[InProcessGateway, str]]:
    """A share, a schema and a table of each name, and a recipient's token."""
    folder = tmp_path_factory.mktemp("names")
    DeltaFolder(folder / "lake" / "t").commit(0, protocol(), metadata(), add("a.parquet"))
    table = {"catalog": "raw", "table": f"file://{folder}/lake/t"}
    write_configuration(
        folder,
        {
            "catalogs": {"raw": {"type": "paths"}},
            "storage": [{"type": "file", "prefix": f"file://{folder}/lake/"}],
            "database": f"sqlite:///{folder}/gateway.db",
        },
        {
            "shares": {name: {"schemas": {name: {"tables": {name: table}}}} for name in NAMES},
            "recipients": {"acme": {"shares": list(NAMES)}},
        },
    )
    with in_process_gateway(load_settings(folder / "gateway.yaml")) as running:
        yield running, _token(folder)


def _token(folder: Path) -> str:
    run_here(folder, "recipient", "rotate", "acme", "--profile", "acme.share")
    return str(json.loads((folder / "acme.share").read_text())["bearerToken"])


def read(gateway: tuple[InProcessGateway, str], target: str) -> int:
    """The number of files that a query of a table answers."""
    running, token = gateway
    headers = [("authorization", f"Bearer {token}")]
    answer = running.send(Request("POST", target, headers, b"{}"))
    assert answer.status == 200, answer
    return len([line for line in answer.lines if "file" in line])


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_encoded_are_found(gateway: tuple[InProcessGateway, str], name: str) -> None:
    part = quote(name, safe="")
    assert read(gateway, f"/delta-sharing/shares/{part}/schemas/{part}/tables/{part}/query") == 1


@pytest.mark.parametrize("name", NAMES)
def test_names_are_found_as_the_official_client_sends_them(
    gateway: tuple[InProcessGateway, str], name: str
) -> None:
    url = f"http://gateway/delta-sharing/shares/{name}/schemas/{name}/tables/{name}/query"
    assert read(gateway, requests.Request("POST", url).prepare().path_url) == 1
