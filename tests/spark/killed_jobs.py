"""Tables of each kind of job that can be killed, and what must hold in between and at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import deltalake
import obstore
import pyarrow as pa
from deltalake.exceptions import TableNotFoundError
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import NoSuchTableError
from support.gateways.iceberg_rest import WAREHOUSE
from support.tables.purged_tables import config_of
from support.tasks.spark_tasks import task

from sluicegate_testing.servers.seaweedfs import SeaweedFS

NAMESPACE = "eu"
_COMMITS, _ORPHANS = 6, 40
_NOW = {"older_than": "0s"}
_OLD_ROWS = pa.table({"id": pa.array(range(100), pa.int64())})


@dataclass(frozen=True)
class Tables:
    """Tables in a store, read and written without Spark."""

    server: SeaweedFS
    catalog: RestCatalog = field(repr=False)

    @classmethod
    def of(cls, server: SeaweedFS) -> Tables:
        """Return the tables of a store."""
        admin = server.admin
        catalog = RestCatalog(
            "written",
            **{
                **config_of(server),
                "uri": server.iceberg_uri,
                "warehouse": WAREHOUSE,
                "credential": f"{admin.access_key_id}:{admin.secret_access_key}",
                "oauth2-server-uri": f"{server.iceberg_uri}/v1/oauth/tokens",
                # Vended credentials open only the warehouse, and not converted Delta tables.
                "header.X-Iceberg-Access-Delegation": "none",
            },
        )
        catalog.create_namespace_if_not_exists(NAMESPACE)
        return cls(server, catalog)

    def write_iceberg(self, name: str) -> None:
        """Write an Iceberg table with a file and a snapshot for each commit."""
        table = self.catalog.create_table(f"{NAMESPACE}.{name}", _OLD_ROWS.schema)
        for number in range(_COMMITS):
            table.append(pa.table({"id": pa.array([number], pa.int64())}))

    def write_delta(self, name: str) -> None:
        """Write a Delta table, of whose files the first one is no longer needed."""
        place, options = self._delta(name)
        deltalake.write_deltalake(place, _OLD_ROWS, storage_options=options)
        for number in range(_COMMITS):
            mode: Literal["overwrite", "append"] = "append" if number else "overwrite"
            rows = pa.table({"id": pa.array([number], pa.int64())})
            deltalake.write_deltalake(place, rows, mode=mode, storage_options=options)

    def of_iceberg(self, name: str) -> list[int] | None:
        """Return the ids in an Iceberg table; `None` if there is no table or no version of it."""
        try:
            table = self.catalog.load_table((NAMESPACE, name))
        except NoSuchTableError:
            return None
        if table.current_snapshot() is None:
            return None
        return sorted(table.scan().to_arrow()["id"].to_pylist())

    def of_delta(self, name: str, bucket: str | None = None) -> list[int] | None:
        """Return the ids in a Delta table; `None` if there is no table."""
        place, options = self._delta(name, bucket)
        try:
            table = deltalake.DeltaTable(place, storage_options=options)
        except TableNotFoundError:
            return None
        return sorted(table.to_pyarrow_table()["id"].to_pylist())

    def objects(self, name: str, bucket: str | None = None) -> list[str]:
        """Return the keys of a table's objects."""
        folder = f"{NAMESPACE}/{name}"
        listed = obstore.list(self.server.store(bucket=bucket), prefix=folder).collect()
        return [each["path"] for each in listed]

    def _delta(self, name: str, bucket: str | None = None) -> tuple[str, dict[str, str]]:
        admin = self.server.admin
        return f"s3://{bucket or self.server.bucket}/{NAMESPACE}/{name}", {
            "endpoint": self.server.endpoint,
            "region": self.server.region,
            "access_key_id": admin.access_key_id,
            "secret_access_key": admin.secret_access_key,
            "allow_http": "true",
            "conditional_put": "etag",
        }


_ROWS = list(range(_COMMITS))


@dataclass(frozen=True)
class Job:
    """A kind of job."""

    operation: str
    properties: Mapping[str, str]
    is_of_delta: bool
    is_whole: Callable[[Tables, str], bool]
    is_done: Callable[[Tables, str], bool]

    def prepare(self, tables: Tables, name: str) -> dict[str, Any]:
        """Write a table, and return the payload of a task for it."""
        properties, given = dict(self.properties), {}
        if self.is_of_delta:
            tables.write_delta(name)
            properties |= {"location": f"s3://{tables.server.bucket}/{NAMESPACE}/{name}"}
        else:
            tables.write_iceberg(name)
            loaded = tables.catalog.load_table((NAMESPACE, name))
            given = {"metadata_location": loaded.metadata_location}
        if self.operation == "ORPHAN_FILE_REMOVAL":
            store = tables.server.store(bucket=WAREHOUSE)
            for number in range(_ORPHANS):
                obstore.put(store, f"{NAMESPACE}/{name}/data/orphan-{number}.parquet", b"of nobody")
        config = config_of(tables.server)
        return task(self.operation, name, NAMESPACE, config=config, properties=properties, **given)


def _is_iceberg(tables: Tables, name: str) -> bool:
    return tables.of_iceberg(name) == _ROWS


def _is_delta(tables: Tables, name: str) -> bool:
    return tables.of_delta(name) == _ROWS


def _is_compacted(tables: Tables, name: str) -> bool:
    files = tables.catalog.load_table((NAMESPACE, name)).inspect.files()
    return _is_iceberg(tables, name) and len(files) == 1


def _is_expired(tables: Tables, name: str) -> bool:
    kept = tables.catalog.load_table((NAMESPACE, name)).snapshots()
    return _is_iceberg(tables, name) and len(kept) == 1


def _has_no_orphans(tables: Tables, name: str) -> bool:
    left = [key for key in tables.objects(name, WAREHOUSE) if "orphan-" in key]
    return _is_iceberg(tables, name) and not left


def _can_be_purged(tables: Tables, name: str) -> bool:
    """Return whether the current metadata file is there as long as there is anything else."""
    left = tables.objects(name, WAREHOUSE)
    return not left or any(key.endswith(".metadata.json") for key in left)


def _is_vacuumed(tables: Tables, name: str) -> bool:
    files = [key for key in tables.objects(name) if key.endswith(".parquet") and "_log/" not in key]
    return _is_delta(tables, name) and len(files) == _COMMITS


def _is_delta_or_not_yet(tables: Tables, name: str) -> bool:
    return _is_iceberg(tables, name) and tables.of_delta(name, WAREHOUSE) in (None, _ROWS)


def _is_iceberg_or_not_yet(tables: Tables, name: str) -> bool:
    return _is_delta(tables, name) and tables.of_iceberg(name) in (None, _ROWS)


JOBS = (
    Job(
        "TABLE_PURGE",
        {},
        False,
        _can_be_purged,
        lambda tables, name: not tables.objects(name, WAREHOUSE),
    ),
    Job("TABLE_COMPACTION", {"min-input-files": "2"}, False, _is_iceberg, _is_compacted),
    Job("SNAPSHOT_EXPIRY", {**_NOW, "retain_last": "1"}, False, _is_iceberg, _is_expired),
    Job("ORPHAN_FILE_REMOVAL", {**_NOW, "force": "true"}, False, _is_iceberg, _has_no_orphans),
    Job(
        "TABLE_VACUUM",
        {"retain_hours": "0", "force": "true", "format": "delta"},
        True,
        _is_delta,
        _is_vacuumed,
    ),
    Job(
        "CONVERT_TO_DELTA",
        {},
        False,
        _is_delta_or_not_yet,
        lambda tables, name: _is_iceberg(tables, name) and tables.of_delta(name, WAREHOUSE) == _ROWS,
    ),
    Job(
        "CONVERT_TO_ICEBERG",
        {},
        True,
        _is_iceberg_or_not_yet,
        lambda tables, name: _is_delta(tables, name) and _is_iceberg(tables, name),
    ),
)
