"""Names in addresses that clients are told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sluicegate.api import SharedTable
from sluicegate.protocols.iceberg_rest.addresses import credentials_of, prefix_of

TABLE = SharedTable("1", "sales", "2", "eu", "orders", "lake", "t")


@pytest.mark.parametrize(
    ("share", "prefix"),
    [("sales", "shares/sales"), ("größe", "shares/gr%C3%B6%C3%9Fe"), ("50%.a", "shares/50%25.a")],
)
def test_the_prefix_is_taken_into_addresses_as_it_is(share: str, prefix: str) -> None:
    assert prefix_of(share) == prefix


@pytest.mark.parametrize(
    ("schema", "name", "expected"),
    [
        ("eu", "orders", "eu/tables/orders"),
        ("a+b", "100%", "a%2Bb/tables/100%25"),
        ("eu", "what?#", "eu/tables/what%3F%23"),
    ],
)
def test_credentials_of_a_table_are_relative_to_the_uri(schema: str, name: str, expected: str) -> None:
    table = replace(TABLE, schema=schema, name=name)
    assert credentials_of(table) == f"v1/shares/sales/namespaces/{expected}/credentials"
