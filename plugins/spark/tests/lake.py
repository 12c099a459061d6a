"""An Iceberg catalog with tables, and an executor for tasks on them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.rest import RestCatalog

from sluicegate_spark.config import SparkConfig
from sluicegate_spark.executor import SparkExecutor
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.servers.seaweedfs import SeaweedFS

from .spark_requirements import SETTINGS, require_jars

CATALOG, WAREHOUSE = "lake", "warehouse"
ROWS = pa.table({"number": pa.array(range(4), pa.int64())})
_COMMITS = 3


def written_by(server: SeaweedFS) -> RestCatalog:
    """Return PyIceberg's client that writes the tables."""
    admin = server.admin
    return RestCatalog(
        "written",
        **{
            "uri": server.iceberg_uri,
            "warehouse": WAREHOUSE,
            "credential": f"{admin.access_key_id}:{admin.secret_access_key}",
            "oauth2-server-uri": f"{server.iceberg_uri}/v1/oauth/tokens",
        },
    )


def make_table(server: SeaweedFS, name: str) -> None:
    """Create a table `eu.<name>` with several snapshots, each of which adds a small file."""
    table = written_by(server).create_table(f"eu.{name}", ROWS.schema)
    for _ in range(_COMMITS):
        table.append(ROWS)


def executor_for(server: SeaweedFS, folder: Path) -> SparkExecutor:
    """Return an executor with the catalog. Its event log is searched for secrets at the end."""
    admin, events = server.admin, folder / "events"
    events.mkdir(parents=True, exist_ok=True)
    oauth2 = {"client_id": admin.access_key_id, "client_secret": admin.secret_access_key}
    section = {
        "master": "local[2]",
        "jars": str(require_jars()),
        "conf": SETTINGS
        | {
            "spark.local.dir": str(folder / "spark"),
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events.as_uri(),
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
        },
        "catalogs": {CATALOG: {"uri": server.iceberg_uri, "warehouse": WAREHOUSE, "oauth2": oauth2}},
        "endpoints": ["127.0.0.1"],
    }
    return SparkExecutor.configured(SparkConfig.model_validate(section), FakeContext())
