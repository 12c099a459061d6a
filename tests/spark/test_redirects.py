"""Stores that redirect Spark: its S3 clients follow no redirect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError
from support.servers.redirects import STATUSES, elsewhere, redirecting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("status", STATUSES)
def test_hadoops_client_of_s3_follows_no_redirect(spark: SparkSession, status: int) -> None:
    with elsewhere() as inside, redirecting(status, inside.uri) as uri:
        conf = java(spark).org.apache.hadoop.conf.Configuration()
        for name, value in {
            "fs.s3a.endpoint": uri,
            "fs.s3a.endpoint.region": "eu-west-1",
            "fs.s3a.access.key": "AKID",
            "fs.s3a.secret.key": "secret",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.attempts.maximum": "1",
            "fs.s3a.retry.limit": "0",
        }.items():
            conf.set(name, value)
        path = java(spark).org.apache.hadoop.fs.Path("s3a://bucket/table/file")
        files = java(spark).org.apache.hadoop.fs.FileSystem.newInstance(path.toUri(), conf)
        for use in (files.open, files.listStatus):
            with pytest.raises(Py4JJavaError, match=f"{status}|redirect"):
                use(path)
        files.close()
    assert inside.asked == []


@pytest.mark.parametrize("status", STATUSES)
def test_icebergs_client_of_s3_follows_no_redirect(spark: SparkSession, status: int) -> None:
    with elsewhere() as inside, redirecting(status, inside.uri) as uri:
        properties = {
            "s3.endpoint": uri,
            "client.region": "eu-west-1",
            "s3.access-key-id": "AKID",
            "s3.secret-access-key": "secret",
            "s3.path-style-access": "true",
            "http-client.type": "urlconnection",  # Iceberg's own choice is in its AWS bundle
        }
        files = java(spark).org.apache.iceberg.aws.s3.S3FileIO()
        files.initialize(properties)
        with pytest.raises(Py4JJavaError, match=f"Status Code: {status}"):
            files.newInputFile("s3://bucket/table/file").newStream().read()
        files.close()
    assert inside.asked == []


def java(spark: SparkSession) -> Any:
    """Return the classes of Spark's JVM."""
    return spark._jvm
