"""Files that a Delta table names are checked against the grant before Spark opens them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sluicegate.api import RealmGrant, TaskFailed
from sluicegate.formats import FILE_SCHEMA, FileChunk, FileSet
from sluicegate_spark.granted_files import check_file_set
from sluicegate_spark.granted_locations import GrantedLocations

LOCATION = "s3://lake/sales/orders"
GRANTED = GrantedLocations("prod", RealmGrant(locations=("s3://lake/sales/",)), of_catalog=False)

# Z85 writes UUIDs with ':', '/', '.' and '%' among its characters. The first one is from a test run.
Z85 = "VCmk:!x7ycMTfNp0/?/R"


def files(kind: str, vector: str, path: str = "a.parquet") -> FileSet:
    """Return a file with a deletion vector."""
    descriptor = {"storageType": kind, "pathOrInlineDv": vector, "sizeInBytes": 3, "cardinality": 1}
    row = {"path": path, "size": 1, "deletion_vector": descriptor}
    return FileSet.of([FileChunk.of(pa.RecordBatch.from_pylist([row], FILE_SCHEMA))])


@pytest.mark.parametrize(
    "encoded", [Z85, "/!x7ycMTfNp0?RVCmk:k", "a..%2e/!x7ycMTfNp0?R", "%2f..:!x7ycMTfNp0?RV"]
)
@pytest.mark.parametrize("prefix", ["", "ab", "a/b"])
async def test_the_encoded_id_of_a_vector_is_no_path(prefix: str, encoded: str) -> None:
    await check_file_set(GRANTED, files("u", prefix + encoded), LOCATION)


async def test_an_inline_vector_is_no_path() -> None:
    await check_file_set(GRANTED, files("i", Z85), LOCATION)


@pytest.mark.parametrize("prefix", ["../../hr", "s3://hr/", "/hr", "%2e%2e/%2e%2e/hr"])
async def test_a_vector_whose_prefix_leads_out_of_the_grant_is_refused(prefix: str) -> None:
    with pytest.raises(TaskFailed, match="not granted the location") as refused:
        await check_file_set(GRANTED, files("u", prefix + Z85), LOCATION)
    assert refused.value.error_code == "NOT_GRANTED"


@pytest.mark.parametrize("path", ["../../hr/a", "s3://hr/a", "/hr/a", "%2e%2e/%2e%2e/hr/a"])
async def test_an_absolute_vector_or_file_out_of_the_grant_is_refused(path: str) -> None:
    for named in (files("p", path), files("i", Z85, path)):
        with pytest.raises(TaskFailed, match="not granted the location"):
            await check_file_set(GRANTED, named, LOCATION)


async def test_an_absolute_vector_within_the_grant_is_accepted() -> None:
    await check_file_set(GRANTED, files("p", "s3://lake/sales/vectors/x.bin"), LOCATION)
