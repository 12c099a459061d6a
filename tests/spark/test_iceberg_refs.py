"""Branches and tags that Spark writes: recipients read the rows and columns that Spark reads there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from spark.iceberg_readers import IcebergReaders
from support.gateways.iceberg_rest import SCHEMA

from sluicegate.cli.demo.reading import difference

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("iceberg"),  # one worker has the catalogs
    pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
]

MERGE_ON_READ = "TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')"


def check(readers: IcebergReaders, *refs: str) -> None:
    """Fail if the official client reads other rows or columns of a branch or tag than Spark."""
    for ref in refs:
        kind = "tag" if ref == "q3" else "branch"
        truth = readers.spark.table(f"{readers.direct}.{SCHEMA}.branched.{kind}_{ref}").toArrow()
        read = replace(readers.recipient, schema=ref).read("branched", use_delta_format=True)
        found = difference(truth, read)
        assert found is None, f"{ref}: {found}"


def test_recipients_read_of_a_branch_or_tag_what_spark_reads(full: IcebergReaders) -> None:
    name = f"{full.direct}.{SCHEMA}.branched"
    full.spark.sql(f"CREATE TABLE {name} (id BIGINT, city STRING) USING iceberg {MERGE_ON_READ}")
    full.spark.sql(f"INSERT INTO {name} SELECT id, 'Ulm' FROM range(9)")
    table = full.writer.load_table((SCHEMA, "branched"))
    head = table.metadata.current_snapshot_id
    assert head is not None
    table.manage_snapshots().create_branch(head, "audit").create_tag(head, "q3").commit()
    check(full, "audit", "q3")
    full.spark.sql(f"INSERT INTO {name}.branch_audit VALUES (20, 'Jena')")
    full.spark.sql(f"DELETE FROM {name}.branch_audit WHERE id % 3 = 1")
    full.spark.sql(f"DELETE FROM {name} WHERE id > 3")
    check(full, "audit", "q3")
    full.spark.sql(f"ALTER TABLE {name} ADD COLUMN country STRING")
    full.spark.sql(f"ALTER TABLE {name} RENAME COLUMN city TO town")
    check(full, "audit", "q3")
    full.spark.sql(f"INSERT INTO {name}.branch_audit VALUES (30, 'Bern', 'CH')")
    check(full, "audit", "q3")
    full.compare("branched")
