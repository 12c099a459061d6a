"""The delegation service with the executor `spark`, in front of a real store and a real catalog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import orjson
from pyiceberg.catalog.rest import RestCatalog
from support.gateways.iceberg_rest import WAREHOUSE, written_by
from support.process.spark import SMALL_TABLES, jars
from support.servers.delegation import API, SECRET, body
from support.servers.serving import serving
from support.servers.task_engine import LOCAL_MASTER, TaskEngine, running_engine

from sluicegate_spark.operations import OPERATIONS
from sluicegate_testing.servers.seaweedfs import SeaweedFS

CATALOG = "lake"
BUCKETS = ("s3://lake/", "s3://converted/", f"s3://{WAREHOUSE}/")
_TASK_SECONDS = 240
# Members of an executor's section that differ between engines.
_PLACE = ("master", "jars", "conf")


@dataclass
class SparkTasks:
    """The service with a worker in its process, and a catalog that hands tasks over."""

    server: SeaweedFS
    folder: Path
    http: httpx.Client = field(repr=False)

    @property
    def writer(self) -> RestCatalog:
        """PyIceberg as the one who writes the catalog's tables."""
        return written_by(self.server)

    def execute(self, payload: Mapping[str, Any]) -> httpx.Response:
        """Hand a task over and wait for its end."""
        return self.http.post(f"{API}/v1/tasks/execute/synchronous", json=payload)

    def record(self, task_id: str) -> dict[str, Any]:
        """A task's record."""
        found: dict[str, Any] = self.http.get(f"{API}/v1/tasks/{task_id}").json()
        return found

    @property
    def log(self) -> str:
        """Everything that the service has logged so far."""
        return (self.folder / "service.log").read_text()


def task(
    operation: str, table: str, namespace: str = "eu", *, catalog: str = CATALOG, **parameters: Any
) -> dict[str, Any]:
    """A payload for a table of a catalog; `catalog` may be one that the executor does not know."""
    payload = body(table, operation=operation, **parameters)
    payload["operation_parameters"]["table_identity"] |= {
        "catalog_name": catalog,
        "namespace_levels": [namespace],
    }
    return payload


def catalogs_of(server: SeaweedFS) -> dict[str, Any]:
    """The catalog `lake` as the executor's configuration has it, with a principal of it."""
    admin = server.admin
    oauth2 = {"client_id": admin.access_key_id, "client_secret": admin.secret_access_key}
    return {CATALOG: {"uri": server.iceberg_uri, "warehouse": WAREHOUSE, "oauth2": oauth2}}


def ambient_rights(server: SeaweedFS) -> dict[str, str]:
    """Settings with which Spark itself opens everything in the store: no task may use them."""
    rights = {
        "access.key": server.admin.access_key_id,
        "secret.key": server.admin.secret_access_key,
        "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        "endpoint": server.endpoint,
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
    }
    places = ("fs.s3a", f"fs.s3a.bucket.{server.bucket}")
    return {f"spark.hadoop.{place}.{name}": value for place in places for name, value in rights.items()}


def executor_section(
    server: SeaweedFS, folder: Path, *, conf: Mapping[str, str] | None = None, **changed: Any
) -> dict[str, Any]:
    """The section of the executor, with the tests' jars and the catalog.

    Spark writes its event log into `events` of the folder, which the search for leaked secrets reads.
    """
    events = folder / "events"
    events.mkdir(parents=True, exist_ok=True)
    return {
        "type": "spark",
        "master": LOCAL_MASTER,
        "jars": str(jars()[0].parent),
        "conf": SMALL_TABLES
        | ambient_rights(server)
        | {
            "spark.local.dir": str(folder / "spark"),
            "spark.log.level": "FATAL",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events.as_uri(),
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
            **(conf or {}),
        },
        "catalogs": catalogs_of(server),
        # Stores and proxies of the tests, which payloads name.
        "endpoints": ["127.0.0.1"],
        **changed,
    }


@contextmanager
def executor_on_engine(
    engine: TaskEngine, server: SeaweedFS, folder: Path, **changed: Any
) -> Iterator[dict[str, Any]]:
    """The section of an executor whose Spark runs until the block ends."""
    section = executor_section(server, folder, **changed)
    with running_engine(engine, folder, section["conf"]) as place:
        kept = {name: value for name, value in section.items() if name not in _PLACE}
        yield {**kept, **place}


def granted(executor: Mapping[str, Any], *locations: str) -> dict[str, Any]:
    """The grant of a realm whose tasks run every operation, by default in the buckets of the tests."""
    return {
        "catalogs": sorted(executor["catalogs"]),
        "locations": locations or BUCKETS,
        "operations": sorted(OPERATIONS),
    }


def write_delegation(
    folder: Path, executor: Mapping[str, Any], *, database: str | None = None, **delegation: Any
) -> None:
    """Write a configuration of the service with one executor; its database is a file unless named."""
    settings = {
        "database": database or f"sqlite:///{folder}/tasks.db",
        "delegation": {
            "realm": "prod",
            "port": 0,
            "clients": {"polaris": {"secret": SECRET}},
            "executors": [executor],
            "realms": {"prod": granted(executor)},
            "worker": {"poll_interval": 1},
            **delegation,
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gateway.yaml").write_bytes(orjson.dumps(settings))
    (folder / "gateway.yaml").chmod(0o600)


@contextmanager
def running_service(folder: Path, *options: str) -> Iterator[str]:
    """Serve the configuration of a folder; the address."""
    arguments = ("delegation", "serve", *options)
    log_file = folder / "service.log"
    with serving(folder, *arguments, log_file=log_file, stop_seconds=60) as (_, address):
        yield address


@contextmanager
def logged_in(address: str) -> Iterator[httpx.Client]:
    """A client of the service that shows an access token with each request."""
    form = {"grant_type": "client_credentials", "client_id": "polaris", "client_secret": SECRET}
    with httpx.Client(base_url=address, timeout=_TASK_SECONDS) as client:
        answer = client.post(f"{API}/v1/oauth/tokens", data=form)
        assert answer.status_code == 200, answer.text
        client.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"
        yield client


@contextmanager
def spark_tasks(
    engine: TaskEngine, folder: Path, *, session_seconds: int | None = None, **delegation: Any
) -> Iterator[SparkTasks]:
    """Serve tasks on Spark until the block ends; in the worker, it starts with the first of them."""
    with (
        SeaweedFS.start(
            folder / "store", session_seconds=session_seconds, warehouse=WAREHOUSE
        ) as server,
        executor_on_engine(engine, server, folder) as executor,
    ):
        written_by(server).create_namespace_if_not_exists("eu")
        write_delegation(folder / "service", executor, **delegation)
        with (
            running_service(folder / "service", "--with-worker") as address,
            logged_in(address) as http,
        ):
            yield SparkTasks(server, folder / "service", http)
