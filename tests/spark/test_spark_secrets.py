"""Secrets with Spark: neither its processes nor their output contain any of the planted secrets.

Secrets are planted in the worker's environment, the executor's settings, and payloads.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from support.gateways.iceberg_rest import WAREHOUSE, written_by
from support.gateways.s3_lake import write_table
from support.process.descendants import Shown, descendants_watched
from support.process.spark import SMALL_TABLES, require_spark
from support.servers.serving import serving
from support.servers.telemetry import running_collector
from support.tables.purged_tables import ROWS, config_of, handed_over, make, own_catalog
from support.tasks.spark_tasks import SparkTasks, executor_section, logged_in, task, write_delegation

from sluicegate_testing.secrets import keep_secret
from sluicegate_testing.servers.seaweedfs import SeaweedFS

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark_secrets")]

ENVIRONMENT = {
    "DATABASE_PASSWORD": "planted-of-the-environment",
    "SPARK_CATALOG_SECRET": "planted-like-one-of-sparks",
}
REDACTED = "*********(redacted)"
CATALOG = "spark.sql.catalog.task_credentials"
NAMED = {"STORE_PROFILE": "named-by-the-configuration"}
CONF = {
    "spark.hadoop.fs.s3a.secret.key": "planted-in-conf",
    "spark.hadoop.fs.s3a.bucket.other.session.token": "planted-for-a-bucket",
    "spark.hadoop.fs.azure.account.key.lake": "planted-for-azure",
    "spark.hadoop.lake.url": "https://me:planted-in-a-url@lake.example",
    "spark.hadoop.lake.sesame": "planted-for-the-operators-pattern",
    "spark.driver.extraJavaOptions": SMALL_TABLES["spark.driver.extraJavaOptions"]
    + " -XshowSettings:properties -Dlake.endpoint=https://me:planted-for-stderr@lake.example"
    + " -Dlake.password=planted-for-java",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    require_spark()
    with SeaweedFS.start(tmp_path_factory.mktemp("store"), warehouse=WAREHOUSE) as running:
        keep_secret(running.admin.secret_access_key)
        yield running


@dataclass(frozen=True)
class Ran:
    """The traces of a worker that purged a table and compacted two others."""

    shown: Shown
    folder: Path
    spans: bytes
    planted: frozenset[str]

    def leaked(self, text: str) -> list[str]:
        """Return the planted secrets in a text."""
        return [each for each in self.planted if each in text]

    @property
    def events(self) -> list[dict[str, Any]]:
        """Return the event log."""
        (log,) = (self.folder / "events").iterdir()
        return [json.loads(line) for line in log.read_text().splitlines()]


def trace(folder: Path, endpoint: str) -> None:
    """Let the service of a folder send its spans."""
    file = folder / "gateway.yaml"
    settings = orjson.loads(file.read_bytes())
    file.write_bytes(orjson.dumps(settings | {"telemetry": {"otlp_endpoint": endpoint}}))


@pytest.fixture(scope="module")
def ran(server: SeaweedFS, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("planted-spark")
    section = executor_section(server, folder, environment=["STORE_PROFILE"])
    section["conf"] |= CONF | {"spark.redaction.regex": "sesame"}
    write_delegation(folder, section, retry={"max_attempts": 1})
    writer = written_by(server)
    writer.create_namespace_if_not_exists("eu")
    make(writer, "compacted")
    purged = make(own_catalog(server, folder), "purged", snapshots=2)
    for _ in range(2):
        write_table(server, "delta", ROWS, mode="append")
    delta: dict[str, Any] = {
        "catalog": "none",
        "config": config_of(server),
        "properties": {"format": "delta", "location": f"s3://{server.bucket}/delta"},
    }
    log, env = folder / "spark.gateway.log", {**ENVIRONMENT, **NAMED}
    with running_collector() as collector:
        trace(folder, collector.endpoint)
        with (
            serving(
                folder,
                *("delegation", "serve", "--with-worker"),
                log_file=log,
                env=env,
                fresh=True,  # a command line and an environment of its own, which are searched
                stop_seconds=60,
            ) as (process, address),
            descendants_watched(process.pid) as shown,
            logged_in(address) as http,
        ):
            tasks = SparkTasks(server, folder, http)
            for each in (
                task("TABLE_PURGE", "purged", **handed_over(purged, config_of(server))),
                task("TABLE_COMPACTION", "compacted"),
                task("TABLE_COMPACTION", "delta", **delta),
            ):
                answer = tasks.execute(each)
                assert answer.status_code == 200, answer.text
    spans = b"".join(body for _, body in collector.payloads)
    in_conf = re.findall(r"planted[\w-]+", str(CONF))
    planted = {*ENVIRONMENT.values(), *in_conf, server.admin.secret_access_key}
    keep_secret(*planted)  # for the search in logs and databases at the end of the run
    return Ran(shown, folder, spans, frozenset(planted))


def test_no_process_shows_a_secret(ran: Ran) -> None:
    seen = ran.shown.everything
    assert "org.apache.spark.deploy.SparkSubmit" in seen
    assert "pyspark.daemon" in seen
    assert ran.leaked(seen) == []


def test_processes_get_the_variables_that_are_named(ran: Ran) -> None:
    assert f"PATH={os.environ['PATH']}" in ran.shown.everything
    assert "STORE_PROFILE=named-by-the-configuration" in ran.shown.everything


def test_the_event_log_shows_no_secret_of_settings_and_of_sessions(ran: Ran) -> None:
    for event in ran.events:
        assert ran.leaked(json.dumps(event)) == [], event["Event"]
    kinds = {event["Event"] for event in ran.events}
    assert kinds >= {"SparkListenerEnvironmentUpdate", "SparkListenerJobStart"}
    jobs = (event for event in ran.events if event["Event"] == "SparkListenerJobStart")
    of_catalogs = [job["Properties"] for job in jobs if f"{CATALOG}.credential" in job["Properties"]]
    assert of_catalogs
    vended = ("credential", "s3.access-key-id", "s3.secret-access-key", "s3.session-token")
    for properties in of_catalogs:
        assert {properties[f"{CATALOG}.{name}"] for name in vended} == {REDACTED}


def test_what_java_prints_is_in_the_log_without_secrets(ran: Ran) -> None:
    log = (ran.folder / "spark.gateway.log").read_text()
    assert "sluicegate_spark.jvm.output:     lake.endpoint = https://me:***@lake.example" in log
    assert ran.leaked(log) == []


def test_the_database_and_spans_hold_no_secret(ran: Ran) -> None:
    databases = [file.read_bytes() for file in ran.folder.glob("tasks.db*")]
    assert b"compacted" in databases[0]
    assert b"/v1/tasks/execute/synchronous" in ran.spans
    for written in (*databases, ran.spans):
        assert ran.leaked(written.decode(errors="replace")) == []
