"""A gateway over a folder of Iceberg tables that PyIceberg writes while it runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from support.clients.recipient import Recipient
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration
from support.process.installed import Site

SHARE, SCHEMA = "lake", "full"
# Each is also a schema, with every table at the branch or tag of this name.
REFS = ("audit", "v1", "main")
# Schemas with every table: only its partition `DE`, and only its latest version.
PART, LATEST = "part", "latest"
_TABLES = 200
# Stands in for what a REST catalog says: the newest metadata file of a table's folder is its state.
_CATALOG = """
from pathlib import Path
from sluicegate.api import CatalogConfig, CatalogTable, CatalogType, hookimpl
from sluicegate_testing.fakes import MemoryCatalog

class Folders(MemoryCatalog):
    async def load_table(self, identifier):
        newest = max(Path(identifier.removeprefix("file://")).glob("metadata/*.metadata.json"))
        location = f"file://{newest}"
        return CatalogTable(identifier, "iceberg", identifier, metadata_location=location)

@hookimpl
def sluicegate_register_catalogs():
    return [CatalogType("icefolders", CatalogConfig, lambda config, context: Folders({}))]
"""


@dataclass
class IcebergSharing:
    """The gateway, and PyIceberg's catalog of its tables."""

    gateway: RunningGateway
    recipient: Recipient
    catalog: SqlCatalog
    folder: Path
    _names: Iterator[str] = field(repr=False)

    def at(self, ref: str) -> Recipient:
        """The recipient, who reads each table as one of `REFS`, or as `PART` or `LATEST`."""
        return replace(self.recipient, schema=ref)

    def unwritten(self) -> tuple[str, Path]:
        """A name in the share that no table has, and the folder where it would be."""
        name = next(self._names)
        return name, self.folder / name

    def table(
        self, schema: pa.Schema | Schema, *, format_version: int = 2, **properties: str
    ) -> tuple[str, Table]:
        """A new table: its name in the share, and PyIceberg's handle on it."""
        name = next(self._names)
        created = self.catalog.create_table(
            f"ice.{name}",
            schema=schema,
            location=f"file://{self.folder}/{name}",
            properties={"format-version": str(format_version), **properties},
        )
        return name, created


@contextmanager
def iceberg_sharing(
    folder: Path, patch: pytest.MonkeyPatch, settings: Mapping[str, Any] | None = None
) -> Iterator[IcebergSharing]:
    """Serve a lake of tables that do not exist yet until the block ends."""
    lake, site = folder / "lake", folder / "site"
    lake.mkdir()
    site.mkdir()
    Site(site).install("icefolders", _CATALOG)
    patch.setenv("PYTHONPATH", str(site), prepend=os.pathsep)
    names = [f"t{number}" for number in range(_TABLES)]
    options = {"history": True, "change_feed": True}
    tables = {name: {"catalog": "ice", "table": f"file://{lake}/{name}", **options} for name in names}
    at_refs = {
        ref: {"tables": {name: {**table, "ref": ref} for name, table in tables.items()}} for ref in REFS
    }
    limited: Mapping[str, dict[str, Any]] = {
        PART: {**options, "partition_filter": "country = 'DE'"},
        LATEST: {"history": False, "change_feed": False},
    }
    in_part = {
        schema: {"tables": {name: {**table, **limits} for name, table in tables.items()}}
        for schema, limits in limited.items()
    }
    write_configuration(
        folder,
        {
            "plugins": ["iceberg"],
            "catalogs": {"ice": {"type": "icefolders", "max_age": 0}},
            "storage": [{"type": "file", "prefix": f"file://{lake}/"}],
            **(settings or {}),
        },
        {
            "shares": {SHARE: {"schemas": {SCHEMA: {"tables": tables}, **at_refs, **in_part}}},
            "recipients": {"acme": {"shares": [SHARE]}, "leaving": {"shares": [SHARE]}},
        },
    )
    catalog = SqlCatalog("ice", uri=f"sqlite:///{folder}/ice.db", warehouse=f"file://{lake}")
    catalog.create_namespace("ice")
    try:
        with running_gateway(folder) as gateway:
            recipient = Recipient(gateway.profile("acme"), SHARE, SCHEMA)
            yield IcebergSharing(gateway, recipient, catalog, lake, iter(names))
            assert "Traceback" not in gateway.log
    finally:
        catalog.engine.dispose()
