from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from sluicegate_spark.config import SparkConfig
from sluicegate_spark.copies.config import CopyConfig

KEY = "of-the-tests-" + "k" * 32
SOURCE = {"location": "s3://lake/orders"}
CATALOG = {"uri": "http://catalog"}


def section(**copy: Any) -> dict[str, Any]:
    tables = {"sales.orders": {"source": SOURCE, **copy}}
    materialized = {"location": "s3://shares/copies/", "key": KEY, "tables": tables}
    return {"materialized": materialized, "catalogs": {"lake": CATALOG}}


def test_a_copy_is_in_a_directory_of_its_name() -> None:
    plain = SparkConfig.model_validate(section()).materialized
    partitioned = SparkConfig.model_validate(section(recipient_columns={"c": "c"})).materialized
    assert plain is not None
    assert partitioned is not None
    assert plain.directory("sales.orders") == "s3://shares/copies/sales/orders"
    assert partitioned.directory("sales.orders") == "s3://shares/copies/sales/orders.by-recipient"


def test_tasks_can_name_the_copies_as_a_catalog() -> None:
    assert SparkConfig.model_validate(section()).catalog_names == {"lake", "materialized"}
    assert SparkConfig.model_validate({"catalogs": {"lake": CATALOG}}).catalog_names == {"lake"}


def test_the_key_is_not_shown() -> None:
    assert KEY not in repr(SparkConfig.model_validate(section()))


@pytest.mark.parametrize(
    ("copy", "message"),
    [
        ({"rows": "country = recipient.country"}, "rows\n.*not understood"),
        ({"rows": "f(x)"}, "rows\n.*not understood"),
        ({"columns": {"a": "mask"}}, "expected share, hide, hash, null"),
        ({"columns": {"a": {"truncate": -1}}}, "expected share, hide, hash, null"),
        ({"columns": {"a": {"truncate": 1, "expression": "b"}}}, "expected share, hide, hash, null"),
        ({"columns": {"a": {"expression": "reflect('a')"}}}, "not understood from character 1"),
        ({"columns": {"a": "hash", "A": "hide"}}, "'A' is there twice"),
        (
            {"columns": {"Country": "hash"}, "recipient_columns": {"country": "c"}},
            "must share it unchanged",
        ),
        ({"other_columns": "hide", "recipient_columns": {"country": "c"}}, "must share it unchanged"),
        ({"recipient_columns": {"a`b": "c"}}, "String should match pattern"),
        ({"recipient_columns": {"a": "c d"}}, "String should match pattern"),
        ({"query": "SELECT 1", "sources": {"o": SOURCE}}, "set either source, or query and sources"),
        ({"source": None, "query": "SELECT 1"}, "query and sources belong together"),
        ({"source": {"catalog": "lake"}}, "set either catalog and table"),
        ({"source": {"catalog": "lake", "table": "o"}}, "expected NAMESPACE.TABLE"),
        ({"source": {"catalog": "pond", "table": "a.o"}}, "catalogs has no entry 'pond'"),
        ({"source": {"location": "s3://lake/../a"}}, "ambiguous"),
        ({"source": {"location": "s3://shares"}}, "must not contain each other"),
        ({"source": {"location": "s3a://shares/copies/sales/orders/x"}}, "must not contain each other"),
        ({"retain": "1h"}, "retain\n"),
    ],
)
def test_a_wrong_copy_is_refused(copy: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        SparkConfig.model_validate(section(**copy))


def test_all_iceberg_tables_of_a_query_are_in_one_catalog() -> None:
    sources = {name: {"catalog": name, "table": "a.b"} for name in ("lake", "pond")}
    with pytest.raises(ValidationError, match="must be in the same catalog"):
        CopyConfig.model_validate({"query": "SELECT 1", "sources": sources})


@pytest.mark.parametrize("name", ["orders", "a.b.c", "../b.c", "a./b", ".a.b", "a.b/c"])
def test_the_name_of_a_copy_is_a_plain_directory(name: str) -> None:
    tables = {name: {"source": SOURCE}}
    with pytest.raises(ValidationError, match="String should match pattern"):
        SparkConfig.model_validate(
            {"materialized": {"location": "s3://shares/copies", "key": KEY, "tables": tables}}
        )


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValidationError, match="at least 32 characters") as failed:
        SparkConfig.model_validate({"materialized": {"location": "s3://shares/c", "key": "short-key"}})
    assert "short-key" not in str(failed.value)


def test_a_catalog_cannot_have_the_name_of_the_copies() -> None:
    wrong = section() | {"catalogs": {"materialized": CATALOG}}
    with pytest.raises(ValidationError, match="reserved for the copies"):
        SparkConfig.model_validate(wrong)
