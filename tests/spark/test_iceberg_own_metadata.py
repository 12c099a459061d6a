"""Partitioned Iceberg tables, which Spark reads file by file with their own specs and tags."""

from __future__ import annotations

import pytest
from pyiceberg.transforms import BucketTransform, DayTransform, TruncateTransform
from spark.iceberg_readers import REST, IcebergReaders, spark_catalog
from support.gateways.iceberg_rest import SCHEMA

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("iceberg"),  # one worker has the catalogs
    pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
]

# No bounds: only partitions and rows decide filters.
PROPERTIES = (
    "TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read', "
    "'write.metadata.metrics.default' = 'none')"
)
COLUMNS = "id BIGINT, city STRING, price DECIMAL(9,2), day DATE, moment TIMESTAMP_NTZ, raw BINARY"
FILTERS = (
    "city = 'Ulm'",
    "city IS NULL",
    "city <> 'Ulm'",
    "moment >= TIMESTAMP_NTZ'2026-01-02 00:00:00'",
    "moment < TIMESTAMP_NTZ'2026-01-02 12:00:00'",
    "day = DATE'2026-01-03' OR id = 1",
    "price > 1.5",
    "id IN (2, 7)",
    "raw = X'01'",
)


def test_spark_reads_partitioned_tables_with_their_specs(full: IcebergReaders) -> None:
    spark, name = full.spark, f"{full.direct}.{SCHEMA}.parts"
    known = {key: full.client.properties[key] for key in ("uri", "warehouse", "token")}
    by_file = {"header.X-Iceberg-Access-Delegation": "remote-signing"}
    shared = f"{spark_catalog(spark, {**REST, **known, **by_file})}.{SCHEMA}.parts"
    spark.sql(f"CREATE TABLE {name} ({COLUMNS}) USING iceberg {PROPERTIES}")
    rows = (
        "SELECT id, IF(id % 3 = 0, NULL, IF(id % 3 = 1, 'Ulm', 'Jena')), CAST(id / 4 AS DECIMAL(9,2)), "
        "date_add(DATE'2026-01-01', CAST(id AS INT) % 4), "
        "CAST(date_add(DATE'2026-01-01', CAST(id AS INT) % 3) AS TIMESTAMP_NTZ) + INTERVAL 9 HOURS, "
        "CAST(CHR(id % 2) AS BINARY) FROM range({first}, {last})"
    )
    spark.sql(f"INSERT INTO {name} {rows.format(first=0, last=4)}")
    table = full.writer.load_table((SCHEMA, "parts"))
    with table.update_spec() as spec:
        for column in ("city", "price", "day", "raw"):
            spec.add_identity(column)
        spec.add_field("moment", DayTransform(), "moment_day")
        spec.add_field("id", BucketTransform(4), "id_bucket")
    spark.sql(f"INSERT INTO {name} {rows.format(first=4, last=12)}")
    table.refresh()
    head = table.metadata.current_snapshot_id
    assert head is not None
    table.manage_snapshots().create_tag(head, "q3").commit()
    with table.update_spec() as spec:
        spec.remove_field("id_bucket")
        spec.add_field("city", TruncateTransform(1), "initial")
    spark.sql(f"INSERT INTO {name} {rows.format(first=12, last=20)}")
    spark.sql(f"DELETE FROM {name} WHERE id IN (5, 13)")
    full.compare("parts")
    chosen = (
        "SELECT id, _spec_id, CAST(_partition AS STRING) FROM {table} WHERE {condition} ORDER BY id"
    )
    for condition in FILTERS:
        expected = spark.sql(chosen.format(table=name, condition=condition)).collect()
        found = spark.sql(chosen.format(table=shared, condition=condition)).collect()
        assert found == expected, condition
    tagged = "SELECT id FROM {table} VERSION AS OF 'q3' ORDER BY id"
    assert spark.sql(tagged.format(table=shared)).collect() == [(id_,) for id_ in range(12)]
