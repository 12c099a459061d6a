"""The gateway and the executor agree on copies with rows of several recipients."""

from __future__ import annotations

from sluicegate.access import partition_filter
from sluicegate_spark.copies.config import BY_RECIPIENT, CopyConfig, recipient_filter
from sluicegate_spark.materialization import copy_table

SOURCE = {"location": "s3://lake/orders"}


def test_the_gateway_knows_the_names_that_copies_have() -> None:
    assert BY_RECIPIENT == partition_filter.BY_RECIPIENT
    assert copy_table.RECIPIENT_FILTER == partition_filter.RECIPIENT_FILTER


def test_the_gateway_understands_the_filter_of_a_copy() -> None:
    columns = {"country": "country", "Or der": "home-region"}
    copy = CopyConfig.model_validate({"source": SOURCE, "recipient_columns": columns})
    terms = partition_filter.PartitionFilter.parse(recipient_filter(copy) or "").terms
    assert {
        term.column: term.value.name
        for term in terms
        if isinstance(term.value, partition_filter.RecipientProperty)
    } == columns
