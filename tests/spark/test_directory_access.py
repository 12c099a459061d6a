"""An unmodified Spark with hadoop-aws reads in directory access with what the endpoint returned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.clients.spark_reading import read_by_spark
from support.gateways.s3_lake import s3_lake, storage_of, write_table
from support.process.spark import require_spark

from sluicegate_testing.servers.seaweedfs import SeaweedFS

pytestmark = pytest.mark.slow

IDS = list(range(20))
ROWS = pa.table({"id": pa.array(IDS, pa.int64()), "city": ["Köln", "Ulm"] * 10})
SIBLINGS = ("secret", "orders2")


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, dict[str, Any]]]:
    """Return what one job could read with the credentials of one table, by the name of the read."""
    require_spark()
    folder = tmp_path_factory.mktemp("dir")
    with SeaweedFS.start(folder / "lake") as server:
        for table in ("orders", *SIBLINGS):
            write_table(server, table, ROWS)
        credentials = _credentials_for_orders(server, folder)
        root = credentials["location"].replace("s3://", "s3a://")
        reads = {"delta": ("delta", root), "parquet": ("parquet", f"{root}/*.parquet")}
        reads |= {name: ("delta", f"s3a://{server.bucket}/{name}") for name in SIBLINGS}
        conf = _settings(server, credentials["awsTempCredentials"])
        yield read_by_spark(folder / "spark", conf, reads)


@pytest.mark.parametrize("kind", ["delta", "parquet"])
def test_a_table_is_read(read: Mapping[str, dict[str, Any]], kind: str) -> None:
    assert read[kind] == {"ids": IDS}


@pytest.mark.parametrize("sibling", SIBLINGS)
def test_a_sibling_of_the_table_is_refused_by_the_store(
    read: Mapping[str, dict[str, Any]], sibling: str
) -> None:
    assert "Status Code: 403" in read[sibling]["error"]


def _credentials_for_orders(server: SeaweedFS, folder: Path) -> dict[str, Any]:
    vending = {"sts_endpoint": server.endpoint, "vending": {"role_arn": server.role_arn}}
    options = {"access_modes": ["dir"]}
    storage = storage_of(server) | vending
    with s3_lake(folder / "gateway", storage, ["orders"], options=options) as lake:
        answer = lake.credentials("orders")
        assert answer.status_code == 200, answer.text
        credentials: dict[str, Any] = answer.json()["credentials"]
        return credentials


def _settings(server: SeaweedFS, secret: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that a recipient writes for hadoop-aws."""
    settings = {
        "aws.credentials.provider": "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider",
        "access.key": secret["accessKeyId"],
        "secret.key": secret["secretAccessKey"],
        "session.token": secret["sessionToken"],
        "endpoint": server.endpoint,
        "endpoint.region": server.region,
        "path.style.access": "true",
    }
    return {f"spark.hadoop.fs.s3a.{name}": value for name, value in settings.items()}
