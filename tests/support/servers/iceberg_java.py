"""Iceberg's own REST catalog, whose tables are in an ordinary bucket; and a gateway in front of it.

Unlike SeaweedFS' catalog it takes every kind of table (format version 3 with its Puffin files, all
partition transforms), and vends nothing: the gateway's storage does.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyiceberg.catalog.rest import RestCatalog
from support.clients.recipient import Recipient
from support.gateways.gateway import RunningGateway
from support.gateways.iceberg_rest import SCHEMA, shared_from
from support.gateways.s3_lake import storage_of
from support.process.spark import POM, jars

from sluicegate_testing.servers.seaweedfs import SeaweedFS

_SOURCE = POM.parent / "java" / "IcebergCatalog.java"
_SMALL = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@contextmanager
def java_catalog(folder: Path, server: SeaweedFS) -> Iterator[str]:
    """Run the catalog over the bucket of a server until the block ends; its URL."""
    java = shutil.which("java")
    assert java is not None
    classpath = ":".join(map(str, jars(POM.with_name("iceberg-catalog.xml"))))
    properties = {
        "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        "uri": "jdbc:h2:mem:catalog;DB_CLOSE_DELAY=-1",
        "jdbc.schema-version": "V1",
        "warehouse": f"s3://{server.bucket}/warehouse",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        **store_properties(server),
    }
    told = [part for name_and_value in properties.items() for part in name_and_value]
    with (folder / "catalog.log").open("w") as log:
        process = subprocess.Popen(
            [java, *_SMALL, "-cp", classpath, str(_SOURCE), *told],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    with process:
        try:
            assert process.stdout is not None
            uri = process.stdout.readline().strip().rstrip("/")
            assert uri, (folder / "catalog.log").read_text()
            yield uri
        finally:
            process.kill()


def store_properties(server: SeaweedFS) -> dict[str, str]:
    """How Iceberg's own clients, in Java and Python, reach the store as its administrator."""
    return {
        "http-client.type": "urlconnection",  # Iceberg's own choice is in its AWS bundle
        "client.region": server.region,
        "s3.region": server.region,
        "s3.endpoint": server.endpoint,
        "s3.path-style-access": "true",
        "s3.access-key-id": server.admin.access_key_id,
        "s3.secret-access-key": server.admin.secret_access_key,
        # SeaweedFS keeps the encoding of a transfer for that of the file.
        "s3.chunked-encoding-enabled": "false",
    }


def writer_of(uri: str, server: SeaweedFS) -> RestCatalog:
    """PyIceberg as the one who writes the tables."""
    return RestCatalog("written", uri=uri, **store_properties(server))


@contextmanager
def gateway_with_storage(
    folder: Path, server: SeaweedFS, uri: str, **settings: Any
) -> Iterator[tuple[RunningGateway, Recipient]]:
    """Share the namespace `eu` whole, with history and change feed, by what the storage vends.

    The schemas `audit` and `q3` have its table `branched` at the branch or tag of that name.
    """
    catalog = {"type": "iceberg", "uri": uri, "credentials": "storage", **settings}
    storage = {
        **storage_of(server),
        "sts_endpoint": server.endpoint,
        "vending": {"role_arn": server.role_arn},
    }
    options = {"access_modes": ["url", "dir"], "history": True, "change_feed": True}
    branched = {"catalog": "lake", "table": f"{SCHEMA}.branched", "history": True, "change_feed": True}
    schemas = {
        SCHEMA: {"from": {"catalog": "lake", "schema": SCHEMA, **options}},
        **{ref: {"tables": {"branched": {**branched, "ref": ref}}} for ref in ("audit", "q3")},
    }
    with shared_from(folder, catalog, storage, schemas) as running:
        yield running
