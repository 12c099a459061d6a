"""Tables of Iceberg catalogs, written by Spark and PyIceberg: all clients read equal rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyiceberg.transforms import BucketTransform, TruncateTransform
from pyiceberg.types import StringType
from spark.iceberg_readers import REST, IcebergReaders
from spark.iceberg_tables import IN_A_FULL_CATALOG, IN_ANY_CATALOG, Written
from support.gateways.iceberg_rest import SCHEMA, WAREHOUSE, gateway_of, written_by
from support.process.random_cases import one_of
from support.servers.iceberg_java import store_properties

from sluicegate_testing.servers.seaweedfs import SeaweedFS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("iceberg"),  # one worker has the catalogs
    pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
]


@pytest.fixture(scope="module")
def vending(
    spark: SparkSession, iceberg_server: SeaweedFS, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[IcebergReaders]:
    """SeaweedFS' catalog, which vends the credentials of its tables."""
    folder, options = tmp_path_factory.mktemp("vending"), {"access_modes": ["url", "dir"]}
    uri, admin = iceberg_server.iceberg_uri, iceberg_server.admin
    with gateway_of(folder, iceberg_server, uri, options) as (gateway, recipient):
        direct = {
            **REST,
            **store_properties(iceberg_server),
            "uri": uri,
            "warehouse": WAREHOUSE,
            "credential": f"{admin.access_key_id}:{admin.secret_access_key}",
            "oauth2-server-uri": f"{uri}/v1/oauth/tokens",
        }
        yield IcebergReaders.of(spark, written_by(iceberg_server), direct, gateway, recipient)
        assert "Traceback" not in gateway.log


@pytest.mark.parametrize(
    "table",
    one_of(2, IN_ANY_CATALOG, pytest.mark.night("test_what_spark_writes_is_the_same_for_every_reader")),
    ids=lambda table: table.name,
)
def test_what_spark_writes_is_the_same_for_every_reader(
    vending: IcebergReaders, table: Written
) -> None:
    vending.check(table)


@pytest.mark.parametrize(
    "table",
    one_of(
        3,
        IN_A_FULL_CATALOG,
        pytest.mark.night("test_what_only_some_catalogs_take_is_the_same_for_every_reader"),
    ),
    ids=lambda table: table.name,
)
def test_what_only_some_catalogs_take_is_the_same_for_every_reader(
    full: IcebergReaders, table: Written
) -> None:
    full.check(table)


@pytest.mark.parametrize("format_version", [1, 2])
def test_partitions_that_changed_are_the_same_for_every_reader(
    full: IcebergReaders, format_version: int
) -> None:
    name = f"repartitioned_{format_version}"
    columns = pa.schema({"id": pa.int64(), "city": pa.string()})
    properties = {"format-version": str(format_version)}
    table = full.writer.create_table((SCHEMA, name), schema=columns, properties=properties)
    with table.update_spec() as spec:
        spec.add_field("id", BucketTransform(4), "part")
    cities = "element_at(array('Ulm', 'Jena', NULL), int(id % 3) + 1)"
    rows = f"INSERT INTO {{t}} SELECT id, {cities} FROM range(9)"
    full.check(Written(name, (rows,)))
    table.refresh()
    with table.update_spec() as spec:
        spec.remove_field("part")  # version 1 keeps the field, by the transform `void`
        spec.add_field("city", TruncateTransform(1), "initial")
    transforms = [str(field.transform) for field in table.spec().fields]
    assert transforms == (["void", "truncate[1]"] if format_version == 1 else ["truncate[1]"])
    full.check(Written(name, (rows, "DELETE FROM {t} WHERE id IN (1, 2) OR city = 'Ulm'")))


def test_what_pyiceberg_and_spark_write_together_is_the_same_for_every_reader(
    vending: IcebergReaders,
) -> None:
    rows = pa.table({"id": pa.array(range(9), pa.int64()), "city": ["Ulm", "Köln", None] * 3})
    written = vending.writer.create_table((SCHEMA, "together"), schema=rows.schema)
    written.append(rows)
    with written.update_spec() as spec:
        spec.add_field("city", TruncateTransform(1), "initial")
    statements = ("INSERT INTO {t} VALUES (20, 'Jena'), (21, NULL)", "DELETE FROM {t} WHERE id < 3")
    vending.check(Written("together", statements))
    written.refresh()
    with written.update_schema() as schema:
        schema.rename_column("city", "town")
        schema.add_column("note", StringType())
    written.delete("id = 20")
    vending.check(Written("together", (), parquet="columnMapping"))
