"""A listing never fails because one of its sources is down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.gateways.gateway import run_here, write_configuration
from support.gateways.in_process import InProcessGateway, Request, in_process_gateway
from support.tables.deltalog import DeltaFolder, add, metadata, protocol

from sluicegate.config import load_settings


def shared(folder: Path) -> str:
    """Apply a share of three schemas, whose third one no storage serves; a recipient's token."""
    DeltaFolder(folder / "lake" / "t").commit(0, protocol(), metadata(), add("a.parquet"))
    lake = f"file://{folder}/lake/"
    write_configuration(
        folder,
        {
            "catalogs": {
                "raw": {"type": "paths"},
                "folders": {"type": "paths", "schemas": {"up": lake, "down": "s3://unserved/"}},
            },
            "storage": [{"type": "file", "prefix": lake}],
            "database": f"sqlite:///{folder}/gateway.db",
        },
        {
            "shares": {
                "sales": {
                    "schemas": {
                        "declared": {"tables": {"a": {"catalog": "raw", "table": f"{lake}t"}}},
                        "up": {"from": {"catalog": "folders", "schema": "up"}},
                        "down": {"from": {"catalog": "folders", "schema": "down"}},
                    }
                }
            },
            "recipients": {"acme": {"shares": ["sales"]}},
        },
    )
    run_here(folder, "recipient", "rotate", "acme", "--profile", "acme.share")
    return str(json.loads((folder / "acme.share").read_text())["bearerToken"])


def get(gateway: InProcessGateway, token: str, path: str) -> tuple[int, Any]:
    headers = [("authorization", f"Bearer {token}")]
    answer = gateway.send(Request("GET", f"/delta-sharing/shares/sales/{path}", headers))
    return answer.status, answer.json


def test_a_source_that_is_down_hides_its_own_tables_only(tmp_path: Path) -> None:
    token = shared(tmp_path)
    with in_process_gateway(load_settings(tmp_path / "gateway.yaml")) as gateway:
        status, listed = get(gateway, token, "all-tables")
        assert status == 200
        assert [(item["schema"], item["name"]) for item in listed["items"]] == [
            ("declared", "a"),
            ("up", "t"),
        ]
        status, error = get(gateway, token, "schemas/down/tables")
        assert (status, error["errorCode"]) == (503, "TEMPORARILY_UNAVAILABLE")
