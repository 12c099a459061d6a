"""A gateway with Iceberg tables of an attacker, and with a bystander's table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from support.clients.bystander import Watch, watched
from support.gateways.iceberg_sharing import SCHEMA, SHARE, IcebergSharing, iceberg_sharing
from support.gateways.shared_lake import asking
from support.tables.iceberg_by_hand import HandWritten

SMALL = 100_000_000  # bytes that the process's memory may grow by where nothing large is to be read
LOW_BYTES = 40_000_000  # `limits.table.bytes` of a gateway with low limits
LOW_LIMITS = {"limits": {"table": {"bytes": LOW_BYTES, "rows": 20_000}}}


class AttackedIceberg:
    """A gateway, the attacker's tables, and a bystander with its own."""

    def __init__(self, lake: IcebergSharing) -> None:
        self._lake = lake
        self._attacker = asking(lake.gateway.profile("acme"))
        self._bystander = asking(lake.gateway.profile("leaving"))
        name, _ = lake.table(Schema(NestedField(1, "id", LongType())))
        self._quiet = _path(name)
        self._bystander.post(f"{self._quiet}/query", json={}).raise_for_status()

    def table(self) -> tuple[str, HandWritten]:
        """A table below the endpoint, to write by hand."""
        name, root = self._lake.unwritten()
        return _path(name), HandWritten(root)

    def query(self, path: str) -> httpx.Response:
        return self._attacker.post(f"{path}/query", json={})

    def refused(self, path: str, growth: int = SMALL) -> str:
        """What a query says that is refused at the table's own fault, while the bystander is served."""
        with self.watched() as watch:
            answer = self.query(path)
        watch.check(growth)
        assert answer.status_code == 400, answer.text[:500]
        assert answer.json()["errorCode"] == "TABLE_UNREADABLE"
        return str(answer.json()["message"])

    @contextmanager
    def watched(self) -> Iterator[Watch]:
        requests = (
            self._bystander.build_request("POST", f"{self._quiet}/query", json={}),
            self._bystander.build_request("GET", f"{self._lake.gateway.address}/readyz"),
        )
        with watched(self._lake.gateway.process.pid, self._bystander, requests) as watch:
            yield watch

    def close(self) -> None:
        self._attacker.close()
        self._bystander.close()


@contextmanager
def attacked_iceberg(
    folder: Path, settings: Mapping[str, Any] | None = None
) -> Iterator[AttackedIceberg]:
    """A gateway with its tables in a folder, and with default limits unless settings set others."""
    with (
        pytest.MonkeyPatch.context() as patch,
        iceberg_sharing(folder, patch, dict(settings or {})) as lake,
    ):
        attacked = AttackedIceberg(lake)
        try:
            yield attacked
        finally:
            attacked.close()


def _path(name: str) -> str:
    return f"/shares/{SHARE}/schemas/{SCHEMA}/tables/{name}"
