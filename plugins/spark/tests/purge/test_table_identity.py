"""A purge recognizes a table that was replaced by another with the same name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sluicegate.api import DelegatedTask, RealmGrant, TableIdentity, TaskFailed
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.executor import SparkExecutor
from sluicegate_spark.purge.history import History
from sluicegate_spark.purge.old_metadata import OldMetadata
from sluicegate_spark.purge.operation import TABLE_PURGE
from sluicegate_spark.purge.stages import CONTENT, METADATA, OLD_METADATA, recorded
from sluicegate_spark.purge.table_identity import is_requested_table

FOLDER = "s3://lake/orders/metadata"
FIRST, SECOND, OTHER = (f"{FOLDER}/{name}.metadata.json" for name in ("0-a", "1-b", "0-z"))


def purge_of(stages: tuple[str, ...] = (), location: str | None = None) -> DelegatedTask:
    table = TableIdentity("1", "lake", ("eu",), "orders")
    return DelegatedTask("1", TABLE_PURGE, "prod", table, stages=stages, metadata_location=location)


@pytest.mark.parametrize(
    ("task", "meant"),
    [
        (purge_of(), True),
        (purge_of(location=SECOND), True),
        (purge_of(location=FIRST), True),
        (purge_of(location=OTHER), False),
        (purge_of((recorded(CONTENT, "0-a.metadata.json", None),)), True),
        (purge_of((recorded(CONTENT, "0-z.metadata.json", None),)), False),
        (purge_of((recorded(CONTENT, "1-b.metadata.json", None),), OTHER), True),
    ],
)
def test_a_table_is_known_by_the_metadata_files_that_it_had(task: DelegatedTask, meant: bool) -> None:
    history = History(None, False, (), (), (), (FIRST,))
    assert is_requested_table(task, SECOND, history, OldMetadata((FIRST,), ())) is meant


@pytest.mark.parametrize(("began", "meant"), [("uuid-1", True), ("uuid-0", False)])
def test_a_uuid_distinguishes_tables_whose_metadata_files_have_one_name(
    began: str, meant: bool
) -> None:
    task = purge_of((recorded(METADATA, "1-b.metadata.json", began),), SECOND)
    history = History("uuid-1", False, (), (), (), (FIRST,))
    assert is_requested_table(task, SECOND, history, OldMetadata((FIRST,), ())) is meant


async def test_a_purge_that_gets_no_credentials_is_not_at_its_end() -> None:
    """A failed task no longer has the metadata of the payload, but still its metadata file."""
    task = purge_of((recorded(OLD_METADATA, "1-b.metadata.json", None),), SECOND)
    task = replace(task, grant=RealmGrant(None, None, ("s3://lake/",)))
    executor = SparkExecutor(SparkConfig())
    with pytest.raises(TaskFailed) as failed:
        await executor.acquire(task)
    assert failed.value.error_code == "CREDENTIAL_VENDING_FAILED"
    await executor.aclose()
