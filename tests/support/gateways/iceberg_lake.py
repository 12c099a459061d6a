"""A gateway in front of Iceberg tables in an S3 store, which PyIceberg writes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration
from support.gateways.s3_lake import storage_of
from support.process.installed import installed_site

from sluicegate_testing.servers.seaweedfs import SeaweedFS

SHARE, SCHEMA = "lake", "sales"
# A catalog whose tables a file names: where each is now. The last part of an identifier counts.
PLUGIN = """
import json
from pathlib import Path
from sluicegate.api import CatalogConfig, CatalogTable, CatalogType, hookimpl
from sluicegate_testing.fakes import MemoryCatalog

class Config(CatalogConfig):
    file: str

class Listed(MemoryCatalog):
    def __init__(self, config, context):
        super().__init__({})
        self._file = Path(config.file)
    async def load_table(self, identifier):
        named = json.loads(self._file.read_text())
        self._schemas = {"lake": {name: CatalogTable(**table) for name, table in named.items()}}
        return await super().load_table("lake." + identifier.replace("/", ".").rpartition(".")[2])

@hookimpl
def sluicegate_register_catalogs():
    return [CatalogType("listed", Config, Listed)]
"""


@dataclass(frozen=True)
class IcebergLake:
    """The gateway, and who writes the tables behind it."""

    server: SeaweedFS
    gateway: RunningGateway
    writer: Catalog
    listing: Path

    @property
    def uri(self) -> str:
        """What clients call the catalog's `uri`."""
        return f"{self.gateway.address}/iceberg"

    def profile(self, *options: str) -> dict[str, Any]:
        """The recipient's profile."""
        profile: dict[str, Any] = json.loads(self.gateway.profile("acme", *options).read_text())
        return profile

    def client(self, **properties: str) -> RestCatalog:
        """PyIceberg, as a recipient with a bearer token unless told otherwise."""
        if "credential" not in properties:
            properties = {"token": self.profile()["bearerToken"], **properties}
        tokens = {"oauth2-server-uri": f"{self.uri}/v1/oauth/tokens"}
        return RestCatalog("share", uri=self.uri, warehouse=SHARE, **tokens, **properties)

    def append(self, name: str, rows: pa.Table) -> None:
        """Append to a table, behind the gateway."""
        table = self.writer.load_table(("lake", name))
        table.append(rows)
        self.tell()

    def tell(self) -> None:
        """Let the catalog say where the tables are now."""
        _tell(self.listing, self.writer)


@contextmanager
def iceberg_lake(
    folder: Path,
    server: SeaweedFS,
    tables: Mapping[str, pa.Table],
    *,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    partition_by: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> Iterator[IcebergLake]:
    """Share Iceberg tables of a bucket, until the block ends."""
    folder.mkdir(exist_ok=True)
    writer = writing_catalog(folder, server)
    for name, rows in tables.items():
        write_iceberg(writer, name, rows, partition_by, properties)
    listing, site = folder / "listing.json", folder / "site"
    _tell(listing, writer)
    site.mkdir()
    storage = {
        **storage_of(server),
        "sts_endpoint": server.endpoint,
        "vending": {"role_arn": server.role_arn},
    }
    named = options or {}
    entries = {
        name: {
            "catalog": "lake",
            "table": f"lake.{name}",
            "access_modes": ["url", "dir"],
            **named.get(name, {}),
        }
        for name in tables
    }
    write_configuration(
        folder,
        {
            "catalogs": {"lake": {"type": "listed", "file": str(listing), "max_age": 0}},
            "storage": [storage],
        },
        {
            "shares": {SHARE: {"schemas": {SCHEMA: {"tables": entries}}}},
            "recipients": {"acme": {"shares": [SHARE]}},
        },
    )
    with installed_site(site) as installed:
        installed.install("listed", PLUGIN)
        path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
        with running_gateway(folder, env={"PYTHONPATH": path}) as gateway:
            yield IcebergLake(server, gateway, writer, listing)


def writing_catalog(folder: Path, server: SeaweedFS) -> SqlCatalog:
    """A catalog of PyIceberg's own, whose tables are in the bucket."""
    catalog = SqlCatalog(
        "lake",
        uri=f"sqlite:///{folder}/iceberg.db",
        warehouse=f"s3://{server.bucket}",
        **{
            "s3.endpoint": server.endpoint,
            "s3.region": server.region,
            "s3.access-key-id": server.admin.access_key_id,
            "s3.secret-access-key": server.admin.secret_access_key,
        },
    )
    catalog.create_namespace_if_not_exists("lake")
    return catalog


def write_iceberg(
    catalog: Catalog,
    name: str,
    rows: pa.Table,
    partition_by: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> None:
    """A new table with one snapshot."""
    table = catalog.create_table(("lake", name), rows.schema, properties=dict(properties or {}))
    if partition_by is not None:
        with table.update_spec() as spec:
            spec.add_identity(partition_by)
    table.append(rows)


def _tell(listing: Path, writer: Catalog) -> None:
    tables = [writer.load_table(name) for name in writer.list_tables("lake")]
    named = {
        table.name()[-1]: {
            "id": str(table.metadata.table_uuid),
            "format": "iceberg",
            "location": table.location(),
            "metadata_location": table.metadata_location,
        }
        for table in tables
    }
    listing.write_text(json.dumps(named))
