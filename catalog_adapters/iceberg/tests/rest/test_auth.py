from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from sluicegate.api import (
    AccessToken,
    AccessTokens,
    HttpClient,
    Principal,
    Scope,
    SecretStr,
    Unavailable,
)
from sluicegate_iceberg.catalog import IcebergCatalog
from sluicegate_iceberg.config import IcebergConfig, OAuth2Config
from sluicegate_iceberg.rest.auth import client_tokens
from sluicegate_testing.servers.polaris import Polaris, Reply

from ..conftest import Clock

Connect = Callable[..., IcebergCatalog]
Client = Callable[..., AccessTokens]

TOKENS = "/oauth/tokens"


@pytest_asyncio.fixture
async def client(polaris: Polaris, clock: Clock) -> AsyncIterator[Client]:
    """Return a function that creates OAuth clients of the server: `client(**settings)`."""
    http = HttpClient(timeout=5, connections=2, longest=1 << 20, pauses=())

    def build(**settings: Any) -> AccessTokens:
        given = {"client_id": polaris.client_id, "scope": polaris.scope, **settings}
        config = OAuth2Config(client_secret=SecretStr(polaris.client_secret), **given)
        return client_tokens(config, f"{polaris.uri}/v1{TOKENS}", http, "lake", clock)

    yield build
    await http.aclose()


async def test_a_token_is_fetched_once_for_all_who_wait(polaris: Polaris, client: Client) -> None:
    tokens = client()
    given = await asyncio.gather(*(tokens.get() for _ in range(20)))
    assert len(set(given)) == 1
    assert len(polaris.requests_to(TOKENS)) == 1


@pytest.mark.parametrize(
    ("lifetime", "after", "renewed"),
    [(3600, 3500, False), (3600, 3545, True), (100, 79, False), (100, 81, True)],
)
async def test_it_is_renewed_ahead_of_its_end(
    polaris: Polaris, clock: Clock, client: Client, lifetime: int, after: int, renewed: bool
) -> None:
    polaris.token_lifetime = lifetime
    tokens = client()
    first = await tokens.get()
    clock.now += after
    given = set(await asyncio.gather(*(tokens.get() for _ in range(20))))
    assert (given != {first}) == renewed
    assert len(polaris.requests_to(TOKENS)) == 1 + renewed


async def test_a_valid_token_serves_while_none_can_be_had(
    polaris: Polaris, clock: Clock, client: Client
) -> None:
    tokens = client()
    first = await tokens.get()
    polaris.tell(TOKENS, Reply(500, b""))
    clock.now += 3550
    assert await tokens.get() == first
    assert await tokens.get() == first
    assert len(polaris.requests_to(TOKENS)) == 2
    clock.now += 51
    with pytest.raises(Unavailable):
        await tokens.get()


async def test_nobody_waits_for_a_renewal_while_the_token_is_valid(
    polaris: Polaris, clock: Clock, client: Client
) -> None:
    tokens = client()
    first = await tokens.get()
    clock.now += 3550
    polaris.delay(TOKENS, 0.5)
    renewal = asyncio.create_task(tokens.get())
    await asyncio.sleep(0)
    assert await tokens.get() == first
    assert not renewal.done()
    assert await renewal != first


@pytest.mark.parametrize("expires_in", [None, "soon", 0, -1])
async def test_a_token_that_does_not_say_is_used_until_it_is_refused(
    polaris: Polaris, clock: Clock, client: Client, expires_in: object
) -> None:
    given = [{"access_token": name, "expires_in": expires_in} for name in ("one", "two")]
    polaris.tell(TOKENS, *(Reply(200, each) for each in given))
    tokens = client()
    first = await tokens.get()
    clock.now += 10**6
    assert await tokens.get() == first == AccessToken("one", None)
    assert await tokens.instead_of(first) == AccessToken("two", None)


async def test_one_renewal_serves_all_who_were_refused(polaris: Polaris, connect: Connect) -> None:
    catalog = connect()
    await catalog.load_table("ns0.t0")
    polaris.forget_tokens()
    await asyncio.gather(*(catalog.load_table("ns0.t0") for _ in range(20)))
    assert len(polaris.requests_to(TOKENS)) == 2


@pytest.mark.parametrize("status", [401, 419])
async def test_a_renewal_that_does_not_help_is_not_repeated(
    polaris: Polaris, connect: Connect, status: int
) -> None:
    polaris.tell("/tables/t0", Reply(status, b"", {"WWW-Authenticate": "Bearer"}))
    with pytest.raises(Unavailable):
        await connect().load_table("ns0.t0")
    assert (len(polaris.requests_to(TOKENS)), len(polaris.requests_to("/tables/t0"))) == (2, 2)


async def test_id_and_secret_go_by_form(polaris: Polaris, client: Client) -> None:
    await client(parameters={"audience": "lake"}).get()
    (asked,) = polaris.requests_to(TOKENS)
    assert asked.form == {
        "grant_type": "client_credentials",
        "client_id": polaris.client_id,
        "client_secret": polaris.client_secret,
        "scope": polaris.scope,
        "audience": "lake",
    }
    assert "authorization" not in asked.headers


async def test_or_by_http_basic(polaris: Polaris, client: Client) -> None:
    polaris.client_id, polaris.client_secret = "a:b c", "50%"
    token = await client(client_authentication="header").get()
    (asked,) = polaris.requests_to(TOKENS)
    assert base64.b64decode(asked.headers["authorization"].removeprefix("Basic ")) == b"a%3Ab+c:50%25"
    assert asked.form == {"grant_type": "client_credentials", "scope": polaris.scope}
    assert token.value


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"scope": "catalog"}, "400 invalid_scope"),
        ({"scope": None}, "400 invalid_scope"),
        ({"client_id": "unknown"}, "401 unauthorized_client"),
    ],
)
async def test_a_refused_client_is_reported_in_the_log_only(
    polaris: Polaris, client: Client, settings: dict[str, Any], told: str
) -> None:
    with pytest.raises(Unavailable) as raised:
        await client(**settings).get()
    assert raised.value.message == "the gateway may not sign in to the catalog 'lake'; ask its operator"
    assert told in (raised.value.detail or "")
    assert polaris.client_secret not in (raised.value.detail or "")


async def test_a_given_token_and_headers_are_sent(polaris: Polaris, connect: Connect) -> None:
    catalog = connect(oauth2=None, token="given", headers={"Polaris-Realm": "eu"})
    with pytest.raises(Unavailable):
        await catalog.list_schemas()
    (asked,) = polaris.requests
    assert asked.headers["authorization"] == "Bearer given"
    assert asked.headers["polaris-realm"] == "eu"


@pytest.mark.parametrize("requires_realm", [True, False])
async def test_each_request_names_the_realm(
    polaris: Polaris, connect: Connect, requires_realm: bool
) -> None:
    polaris.realm, polaris.requires_realm = "eu", requires_realm
    catalog = connect(headers={"Polaris-Realm": "eu"})
    assert await catalog.list_tables("ns0") == ["t0"]
    table = await catalog.load_table("ns0.t0")
    assert table.vendor is not None
    await table.vendor.vend(Scope((table.location,), 3600, Principal("1", "acme", "token")))
    assert {asked.headers.get("polaris-realm") for asked in polaris.requests} == {"eu"}
    assert len(polaris.requests_to(TOKENS)) == 1


@pytest.mark.parametrize("requires_realm", [True, False])
@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"Polaris-Realm": "nowhere"}, "404 MissingOrInvalidRealm"),
        ({}, "(404 MissingOrInvalidRealm|401 unauthorized_client)"),
        ({"Polaris-Realm": "POLARIS"}, "401 unauthorized_client"),
    ],
    ids=["unknown", "none", "another"],
)
async def test_a_wrong_realm_makes_the_catalog_unavailable(
    polaris: Polaris,
    connect: Connect,
    headers: dict[str, str],
    reason: str,
    requires_realm: bool,
) -> None:
    polaris.realm, polaris.requires_realm = "eu", requires_realm
    catalog = connect(headers=headers)
    for question in (catalog.list_schemas(), catalog.list_tables("ns0"), catalog.load_table("ns0.t0")):
        with pytest.raises(Unavailable, match="may not sign in to the catalog 'lake'") as raised:
            await question
        assert re.search(reason, raised.value.detail or "")


async def test_a_realm_that_is_removed_hides_no_table(polaris: Polaris, connect: Connect) -> None:
    polaris.realm = "eu"
    catalog = connect(headers={"Polaris-Realm": "eu"})
    await catalog.load_table("ns0.t0")
    polaris.realm = "elsewhere"
    for question in (catalog.list_tables("ns0"), catalog.load_table("ns0.t0")):
        with pytest.raises(Unavailable) as raised:
            await question
        assert "404 MissingOrInvalidRealm" in (raised.value.detail or "")


@pytest.mark.parametrize(
    ("token_uri", "sent"),
    [
        (None, "hush"),
        ("{uri}/v1/oauth/tokens", "hush"),
        ("http://localhost:{port}/api/catalog/v1/oauth/tokens", None),
    ],
    ids=["default", "same", "another"],
)
async def test_headers_go_to_no_other_server(
    polaris: Polaris, connect: Connect, token_uri: str | None, sent: str | None
) -> None:
    oauth2 = {
        "client_id": polaris.client_id,
        "client_secret": polaris.client_secret,
        "scope": polaris.scope,
    }
    if token_uri is not None:
        port = polaris.uri.split("/")[2].partition(":")[2]
        oauth2["token_uri"] = token_uri.format(uri=polaris.uri, port=port)
    await connect(oauth2=oauth2, headers={"X-Key": "hush"}).list_schemas()
    (asked,) = polaris.requests_to(TOKENS)
    assert asked.headers.get("x-key") == sent


async def test_another_token_endpoint_may_be_named(polaris: Polaris, connect: Connect) -> None:
    with Polaris.start() as issuer:
        oauth2 = {
            "client_id": issuer.client_id,
            "client_secret": issuer.client_secret,
            "scope": issuer.scope,
            "token_uri": f"{issuer.uri}/v1{TOKENS}",
        }
        with pytest.raises(Unavailable):
            await connect(oauth2=oauth2).list_schemas()
        assert len(issuer.requests_to(TOKENS)) == 2
    assert not polaris.requests_to(TOKENS)


def test_texts_of_the_configuration_hide_secrets() -> None:
    config = IcebergConfig.model_validate(
        {"uri": "https://lake.example/", "token": "shh", "headers": {"X-Key": "hush"}}
    )
    assert config.uri == "https://lake.example"
    assert "shh" not in repr(config)
    assert "hush" not in repr(config)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"uri": "lake.example"}, "uri"),
        ({"uri": "https://user:shh@lake.example"}, "uri"),
        ({"uri": "https://lake.example?token=shh"}, "uri"),
        ({"uri": "https://lake.example", "warehouse": ""}, "warehouse"),
        (
            {
                "uri": "https://lake.example",
                "token": "shh",
                "oauth2": {"client_id": "a", "client_secret": "shh"},
            },
            "are mutually exclusive",
        ),
    ],
)
def test_a_bad_configuration_is_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told) as raised:
        IcebergConfig.model_validate(settings)
    assert "shh" not in str(raised.value)
