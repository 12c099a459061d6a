from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from sluicegate_iceberg.config import IcebergConfig
from sluicegate_iceberg.names import TableName
from sluicegate_iceberg.rest.responses import ConfigResponse
from sluicegate_iceberg.rest.settings import Settings

URI = "https://lake.example/api"
TABLE = TableName(("eu", "north"), "orders")


def settings(uri: str = URI, **answer: Any) -> Settings:
    return Settings.of(uri, ConfigResponse.model_validate(answer))


@pytest.mark.parametrize(
    "uri", ["lake.example/api", "https://", "https://me@lake.example", "https://a?b", "https://a/ b#c"]
)
def test_an_invalid_address_is_described_in_words(uri: str) -> None:
    with pytest.raises(ValidationError, match="must be a URL such as https://polaris"):
        IcebergConfig.model_validate({"uri": uri})


@pytest.mark.parametrize(
    ("answer", "path"),
    [
        ({}, "v1/namespaces"),
        ({"overrides": {"prefix": "lake"}}, "v1/lake/namespaces"),
        ({"defaults": {"prefix": "lake"}}, "v1/lake/namespaces"),
        ({"defaults": {"prefix": "lake"}, "overrides": {"prefix": "pond"}}, "v1/pond/namespaces"),
        ({"overrides": {"prefix": "/accounts/7/lake/"}}, "v1/accounts/7/lake/namespaces"),
        ({"overrides": {"prefix": "my lake"}}, "v1/my%20lake/namespaces"),
        ({"overrides": {"prefix": "my%20lake"}}, "v1/my%20lake/namespaces"),
        ({"overrides": {"prefix": "lake?a=b#c"}}, "v1/lake%3Fa=b%23c/namespaces"),
        ({"overrides": None, "defaults": {"prefix": None}, "endpoints": None}, "v1/namespaces"),
    ],
)
def test_the_prefix_is_part_of_every_path(answer: dict[str, Any], path: str) -> None:
    assert settings(**answer).namespaces() == f"{URI}/{path}"


@pytest.mark.parametrize(
    ("uri", "override", "asked"),
    [
        (URI, "https://other.example/", "https://other.example"),
        (URI, "http://lake.example/api", URI),
        ("http://lake.example", "https://lake.example", "https://lake.example"),
        ("http://lake.example", "http://other.example", "http://other.example"),
        (URI, "other.example", URI),
    ],
)
def test_a_catalog_moves_its_clients_but_never_off_encryption(
    uri: str, override: str, asked: str
) -> None:
    assert settings(uri, overrides={"uri": override}).uri == asked


@pytest.mark.parametrize(
    ("route", "offered"),
    [
        ("GET polaris/v1/{prefix}/namespaces/{namespace}/generic-tables", True),
        ("GET /polaris/v1/{prefix}/namespaces/{namespace}/generic-tables", True),
        ("POST polaris/v1/{prefix}/namespaces/{namespace}/generic-tables", False),
        ("GET /v1/{prefix}/namespaces/{namespace}/tables", False),
    ],
)
def test_generic_tables_are_offered_where_their_address_is(route: str, offered: bool) -> None:
    assert settings(endpoints=["GET /v1/{prefix}/namespaces", route]).generic_tables == offered


@pytest.mark.parametrize(
    ("advertised", "asked"),
    [
        (None, f"{URI}/v1/lake/namespaces/eu%1Fnorth/tables/orders/credentials"),
        ("v1/renew", f"{URI}/v1/renew"),
        ("/v1/renew", f"{URI}/v1/renew"),
        ("https://lake.example/v1/renew", "https://lake.example/v1/renew"),
        ("https://LAKE.example/v1/renew", "https://LAKE.example/v1/renew"),
        *(
            (elsewhere, f"{URI}/v1/lake/namespaces/eu%1Fnorth/tables/orders/credentials")
            for elsewhere in (
                "http://lake.example/v1/renew",
                "https://lake.example:8443/v1/renew",
                "https://lake.example@evil.example/v1/renew",
                "https://evil.example/lake.example/renew",
            )
        ),
    ],
)
def test_credentials_are_requested_from_the_catalog_only(advertised: str | None, asked: str) -> None:
    assert settings(overrides={"prefix": "lake"}).credentials(TABLE, advertised) == asked


def test_properties_of_storage_show_in_no_text() -> None:
    assert "shh" not in repr(settings(defaults={"s3.secret-access-key": "shh"}))
