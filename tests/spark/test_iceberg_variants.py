"""Delta's variants through the Iceberg catalog, read by Spark with Iceberg."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import BadRequestError
from support.gateways.gateway import running_gateway, write_configuration
from support.process.spark import require_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG = "spark.sql.catalog.variants"
VALUES = ['{"a":[1,null,{"b":"x"}]}', "7", None, "null", '"long text, which is no inline value at all"']


@pytest.fixture(scope="module")
def profile(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    require_spark()
    folder = tmp_path_factory.mktemp("variants")
    lake: Path = folder / "lake"
    rows = spark.createDataFrame(list(enumerate(VALUES)), "id int, text string")
    written = rows.selectExpr("id", "parse_json(text) AS v", "struct(parse_json(text) AS v) AS s")
    written.write.format("delta").save(str(lake / "t"))
    table = {"catalog": "raw", "table": f"file://{lake}/t", "history": True}
    write_configuration(
        folder,
        {
            "catalogs": {"raw": {"type": "paths"}},
            "storage": [{"type": "file", "prefix": f"file://{lake}/"}],
        },
        {
            "shares": {"variants": {"schemas": {"delta": {"tables": {"t": table}}}}},
            "recipients": {"acme": {"shares": ["variants"]}},
        },
    )
    with running_gateway(folder) as running:
        yield json.loads(running.profile("acme").read_text())


def test_spark_reads_variants(spark: SparkSession, profile: dict[str, Any]) -> None:
    spark.conf.set(CATALOG, "org.apache.iceberg.spark.SparkCatalog")
    settings = {
        "type": "rest",
        "uri": profile["icebergEndpoint"],
        "warehouse": "variants",
        "token": profile["bearerToken"],
        "http-client.type": "urlconnection",  # Iceberg's own choice is in its AWS bundle
    }
    for key, value in settings.items():
        spark.conf.set(f"{CATALOG}.{key}", value)
    found = spark.table("variants.delta.t").selectExpr("id", "to_json(v)", "to_json(s.v)")
    assert sorted(map(tuple, found.collect())) == [
        (number, value, value) for number, value in enumerate(VALUES)
    ]


def test_pyiceberg_is_refused_with_the_reason(profile: dict[str, Any]) -> None:
    share = RestCatalog(
        "share", uri=profile["icebergEndpoint"], warehouse="variants", token=profile["bearerToken"]
    )
    with pytest.raises(BadRequestError, match="PyIceberg cannot read the column 'v'"):
        share.load_table(("delta", "t"))
