"""All reader tables behind one gateway, and a recipient that may read them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pyarrow as pa
from support.clients.recipient import Recipient
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration
from support.tables.golden import HIVE
from support.tables.reader_tables.of_faults import FOLDER
from support.tables.reader_tables.tables import ReaderTables, served_tables
from support.tables.rows import rows_in

SHARE, SCHEMA = "readers", "delta"


@dataclass(frozen=True)
class ReaderGateway:
    """A gateway that shares each reader table under its name, and folders of tables as schemas."""

    running: RunningGateway
    tables: ReaderTables
    recipient: Recipient

    def expected(self, name: str) -> pa.Table:
        """The rows that a correct reader returns."""
        folder = self.tables.table(name).expected
        assert folder is not None, f"{name} has no expected rows"
        return rows_in(folder)

    def of_schema(self, schema: str) -> Recipient:
        """The recipient, for the tables of another schema."""
        return Recipient(self.recipient.profile, SHARE, schema)

    def query(self, name: str) -> httpx.Response:
        """The protocol's answer in parquet format, without the client."""
        token = json.loads(self.recipient.profile.read_text())["bearerToken"]
        url = f"{self.running.endpoint}/shares/{SHARE}/schemas/{SCHEMA}/tables/{name}/query"
        return httpx.post(url, headers={"Authorization": f"Bearer {token}"}, json={}, timeout=30)


def shared_tables(
    tables: ReaderTables, names: Iterable[str] | None = None
) -> dict[str, dict[str, object]]:
    """Reader tables under their names, as a shares file declares them; all of them by default."""
    return {
        name: {"catalog": "raw", "table": f"file://{tables.table(name).location}", "history": True}
        for name in (served_tables() if names is None else names)
    }


def shared_folders(tables: ReaderTables) -> dict[str, str]:
    """Schemas that are folders of tables, and where these are."""
    names = [name for name in (FOLDER, HIVE) if name in served_tables()]
    return {name: f"file://{tables.table(name).location}/" for name in names}


@contextmanager
def reader_gateway(
    folder: Path,
    names: Iterable[str] | None = None,
    written: Callable[[Path], ReaderTables] = ReaderTables,
) -> Iterator[ReaderGateway]:
    """Write reader tables into a folder and serve them, until the block ends."""
    lake = folder / "lake"
    tables = written(lake)
    folders = shared_folders(tables) if names is None else {}
    shared = shared_tables(tables, names)
    schemas = {name: {"from": {"catalog": "folders", "schema": name}} for name in folders}
    write_configuration(
        folder,
        {
            "catalogs": {"raw": {"type": "paths"}, "folders": {"type": "paths", "schemas": folders}},
            "storage": [{"type": "file", "prefix": f"file://{lake}/"}],
        },
        {
            "shares": {SHARE: {"schemas": {SCHEMA: {"tables": shared}, **schemas}}},
            "recipients": {"acme": {"shares": [SHARE]}},
        },
    )
    with running_gateway(folder) as running:
        yield ReaderGateway(running, tables, Recipient(running.profile("acme"), SHARE, SCHEMA))
        # Whatever was asked, also of broken tables: nothing in the gateway was unforeseen.
        assert "Traceback" not in running.log
