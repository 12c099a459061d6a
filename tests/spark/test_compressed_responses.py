"""The HTTP client of the Spark connector, with its settings, reads compressed responses."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake import write_deltalake
from support.gateways.shared_lake import SharedLake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 300


def test_the_connectors_http_client_reads_them(spark: SparkSession, lake: SharedLake) -> None:
    table = lake.table()
    rows = pa.table({"part": list(range(FILES)), "id": list(range(FILES))})
    write_deltalake(table.root, rows, partition_by=["part"])
    client = lake.client()
    plain = client.post(f"{table.path()}/query", json={}, headers={"Accept-Encoding": "identity"})
    for _ in range(2):  # the second response comes from the gateway's cache
        url = f"{lake.gateway.endpoint}{table.path()}/query"
        found = _posted(spark, url, client.headers["Authorization"])
        assert len(found.splitlines()) == FILES + 2
        assert [_unsigned(line) for line in found.splitlines()] == [
            _unsigned(line) for line in plain.text.splitlines()
        ]
    sizes = _logged_sizes(lake, table.name, 3)
    assert len(sizes) == 3
    assert sizes[0] == len(plain.content)
    assert max(sizes[1:]) < sizes[0] / 2


def _logged_sizes(lake: SharedLake, table: str, count: int) -> list[int]:
    """The bytes of the queries' bodies, from the log, which can be later than the responses."""
    until = time.monotonic() + 10
    while True:
        logged = re.findall(rf"{table}/query 200 .* bytes=(\d+)", lake.gateway.log)
        if len(logged) >= count or time.monotonic() > until:
            return [int(size) for size in logged]
        time.sleep(0.05)


def _posted(spark: SparkSession, url: str, authorization: str) -> str:
    """The decoded body of a POST by Apache HttpClient 4, as `DeltaSharingRestClient` builds it."""
    apache = spark._jvm.org.apache.http
    request = apache.client.methods.HttpPost(url)
    request.setHeader("Authorization", authorization)
    request.setHeader("Content-type", "application/json")
    request.setEntity(apache.entity.StringEntity("{}", "UTF-8"))
    client = apache.impl.client.HttpClientBuilder.create().disableAutomaticRetries().build()
    try:
        response = client.execute(request)
        return str(apache.util.EntityUtils.toString(response.getEntity(), "UTF-8"))
    finally:
        client.close()


def _unsigned(line: str) -> str:
    """A line without what differs between two responses: URLs and their expiry."""
    return re.sub(r'"(url|expirationTimestamp)":("[^"]*"|\d+)', r'"\1":""', line)
