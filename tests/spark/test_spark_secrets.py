"""Secrets with Spark: neither its processes nor what they write show one of the planted ones.

Planted are the worker's environment, settings of the executor, and credentials of payloads.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from support.descendants import Shown, descendants_watched
from support.iceberg_rest import WAREHOUSE, written_by
from support.purged_tables import config_of, handed_over, make, own_catalog
from support.serving import serving
from support.spark import SMALL_TABLES, require_spark
from support.spark_tasks import SparkTasks, executor_section, logged_in, task, write_delegation

from sluicegate.testing.secrets import keep_secret
from sluicegate.testing.servers.seaweedfs import SeaweedFS

pytestmark = pytest.mark.xdist_group("spark_secrets")

ENVIRONMENT = {
    "DATABASE_PASSWORD": "planted-of-the-environment",
    "SPARK_CATALOG_SECRET": "planted-like-one-of-sparks",
}
NAMED = {"STORE_PROFILE": "named-by-the-configuration"}
CONF = {
    "spark.hadoop.fs.s3a.secret.key": "planted-in-conf",
    "spark.hadoop.fs.s3a.bucket.other.session.token": "planted-for-a-bucket",
    "spark.driver.extraJavaOptions": SMALL_TABLES["spark.driver.extraJavaOptions"]
    + " -Djavax.net.ssl.trustStorePassword=planted-for-java",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    require_spark()
    with SeaweedFS.start(tmp_path_factory.mktemp("store"), warehouse=WAREHOUSE) as running:
        keep_secret(running.admin.secret_access_key)
        yield running


@pytest.fixture(scope="module")
def ran(server: SeaweedFS, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """What was to be seen of a worker while it purged a table and compacted another one."""
    folder = tmp_path_factory.mktemp("planted-spark")
    section = executor_section(server, folder, environment=["STORE_PROFILE"])
    section["conf"] |= CONF
    write_delegation(folder, section)
    writer = written_by(server)
    writer.create_namespace_if_not_exists("eu")
    make(writer, "compacted")
    purged = make(own_catalog(server, folder), "purged", snapshots=2)
    log, planted = folder / "spark.gateway.log", {**ENVIRONMENT, **NAMED}
    with (
        serving(
            folder, "delegation", "serve", "--with-worker", log_file=log, env=planted, stop_seconds=60
        ) as (process, address),
        descendants_watched(process.pid) as shown,
        logged_in(address) as http,
    ):
        tasks = SparkTasks(server, folder, http)
        for each in (
            task("TABLE_PURGE", "purged", **handed_over(purged, config_of(server))),
            task("TABLE_COMPACTION", "compacted"),
        ):
            answer = tasks.execute(each)
            assert answer.status_code == 200, answer.text
    return shown


def planted(server: SeaweedFS) -> Iterator[str]:
    yield from ENVIRONMENT.values()
    yield from (value.rpartition("planted")[2] for value in CONF.values())
    yield server.admin.secret_access_key


def test_no_process_shows_a_secret(ran: Shown, server: SeaweedFS) -> None:
    assert "org.apache.spark.deploy.SparkSubmit" in ran.everything
    assert "pyspark.daemon" in ran.everything
    assert [each for each in planted(server) if each in ran.everything] == []


def test_processes_get_the_variables_that_are_named(ran: Shown) -> None:
    assert f"PATH={os.environ['PATH']}" in ran.everything
    assert "STORE_PROFILE=named-by-the-configuration" in ran.everything
