"""The golden tables behind one gateway, and a recipient that may read all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pyarrow as pa
from support.gateway import RunningGateway, running_gateway, write_configuration
from support.golden import GoldenTables, golden_names
from support.recipient import Recipient
from support.rows import rows_in

SHARE, SCHEMA, HIVE = "golden", "delta", "hive"


@dataclass(frozen=True)
class GoldenGateway:
    """A gateway that shares every golden table under its name, and the folder `hive` as a schema."""

    running: RunningGateway
    tables: GoldenTables
    recipient: Recipient

    def expected(self, name: str) -> pa.Table:
        """The rows that a correct reader returns."""
        folder = self.tables.table(name).expected
        assert folder is not None, f"{name} has no expected rows"
        return rows_in(folder)

    @property
    def hive_folder(self) -> Path:
        """The folder whose tables are shared whole."""
        return self.tables.table(HIVE).location

    def hive(self) -> Recipient:
        """The recipient, for the tables of that folder."""
        return Recipient(self.recipient.profile, SHARE, HIVE)

    def query(self, name: str) -> httpx.Response:
        """The protocol's answer in parquet format, without the client."""
        token = json.loads(self.recipient.profile.read_text())["bearerToken"]
        url = f"{self.running.endpoint}/shares/{SHARE}/schemas/{SCHEMA}/tables/{name}/query"
        return httpx.post(url, headers={"Authorization": f"Bearer {token}"}, json={}, timeout=30)


def shared_tables(tables: GoldenTables) -> dict[str, dict[str, object]]:
    """Every golden table under its name, as a shares file declares it."""
    return {
        name: {"catalog": "raw", "table": f"file://{tables.table(name).location}", "history": True}
        for name in golden_names()
    }


@contextmanager
def golden_gateway(folder: Path) -> Iterator[GoldenGateway]:
    """Unpack all golden tables into a folder and serve them, until the block ends."""
    lake = folder / "lake"
    tables = GoldenTables(lake)
    write_configuration(
        folder,
        {
            "catalogs": {
                "raw": {"type": "paths"},
                "folders": {"type": "paths", "schemas": {HIVE: f"file://{lake}/{HIVE}/delta/"}},
            },
            "storage": [{"type": "file", "prefix": f"file://{lake}/"}],
        },
        {
            "shares": {
                SHARE: {
                    "schemas": {
                        SCHEMA: {"tables": shared_tables(tables)},
                        HIVE: {"from": {"catalog": "folders", "schema": HIVE}},
                    }
                }
            },
            "recipients": {"acme": {"shares": [SHARE]}},
        },
    )
    with running_gateway(folder) as running:
        yield GoldenGateway(running, tables, Recipient(running.profile("acme"), SHARE, SCHEMA))
        # Whatever was asked, also of broken tables: nothing in the gateway was unforeseen.
        assert "Traceback" not in running.log
