"""Authentication of the gateway to the catalog: tokens, their renewal, and their rejection."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sluicegate.api import Principal, Scope, StorageError, Unavailable
from sluicegate_testing.servers.unity_catalog.unity import (
    Distrust,
    UnityReply,
    UnityRequest,
    UnityServer,
    table_info,
)

from .conftest import Connected

EXCHANGE = "/api/1.0/unity-control/auth/tokens"
SECRET = "s3cret & more"


@pytest.fixture(autouse=True)
def _orders(unity: UnityServer) -> None:
    unity.state.add(table_info("main.eu.orders", "file:///lake/orders"))
    unity.state.tokens = {"access-1"}
    unity.state.exchanged = {"identity-1": "access-1"}


async def test_a_fixed_token_is_shown(unity: UnityServer, connected: Connected) -> None:
    await connected(token="access-1").load_table("eu.orders")
    assert {asked.token for asked in unity.requests} == {"access-1"}


async def test_nothing_is_shown_where_nothing_is_configured(
    unity: UnityServer, connected: Connected
) -> None:
    unity.state.tokens = None
    await connected().load_table("eu.orders")
    assert "Authorization" not in unity.requests[0].headers


async def test_a_refused_fixed_token_is_reported_to_the_operator(
    unity: UnityServer, connected: Connected
) -> None:
    with pytest.raises(Unavailable, match="rejects the gateway's token; ask the") as raised:
        await connected(token="wrong").load_table("eu.orders")
    assert "401 UNAUTHENTICATED" in (raised.value.detail or "")
    assert len(unity.requests) == 1


@pytest.mark.parametrize("why", ["user", "issuer", "key"])
async def test_a_refused_identity_hides_no_table(
    unity: UnityServer, connected: Connected, why: Distrust
) -> None:
    unity.state.distrusted = {"token-of-another-issuer": why}
    catalog = connected(token="token-of-another-issuer")
    for ask in (catalog.load_table("eu.orders"), catalog.list_tables("eu"), catalog.list_schemas()):
        with pytest.raises(Unavailable, match="rejects the gateway's token"):
            await ask
    assert len(unity.requests) == 3


async def test_a_refused_identity_hides_no_table_while_credentials_are_vended(
    unity: UnityServer, connected: Connected
) -> None:
    unity.state.add(table_info("main.eu.far", "s3://lake/far", 2))
    unity.state.credentials["00000000-0000-0000-0000-000000000002"] = {
        "aws_temp_credentials": {"access_key_id": "AK"},
        "expiration_time": 1_900_000_000_000,
    }
    vendor = (await connected(token="access-1").load_table("eu.far")).vendor
    assert vendor is not None
    scope = Scope(("s3://lake/far",), 900, Principal("r1", "acme", "bearer"))
    await vendor.vend(scope)  # with the credentials of the lookup
    unity.state.tokens, unity.state.distrusted = set(), {"access-1": "user"}
    with pytest.raises(StorageError, match="vends no credentials") as raised:
        await vendor.vend(scope)
    assert "User not allowed" in (raised.value.detail or "")


@pytest.mark.parametrize("why", ["user", "issuer", "key"])
async def test_a_token_of_a_server_with_other_keys_is_renewed_at_once(
    unity: UnityServer, connected: Connected, why: Distrust
) -> None:
    catalog = connected(token_exchange={"subject_token": "identity-1"})
    await catalog.load_table("eu.orders")
    unity.state.distrusted = {"access-1": why}
    unity.state.exchanged, unity.state.tokens = {"identity-1": "access-2"}, {"access-2"}
    asked = len(unity.requests)
    await catalog.load_table("eu.orders")
    assert [each.path for each in unity.requests[asked:]] == [
        "/api/2.1/unity-catalog/tables/main.eu.orders",
        EXCHANGE,
        "/api/2.1/unity-catalog/tables/main.eu.orders",
    ]


@pytest.mark.parametrize("by_file", [False, True])
async def test_an_identity_token_is_exchanged_once(
    unity: UnityServer, connected: Connected, tmp_path: Path, by_file: bool
) -> None:
    file = tmp_path / "identity"
    file.write_text("identity-1\n")
    subject = {"subject_token_file": str(file)} if by_file else {"subject_token": "identity-1"}
    catalog = connected(token_exchange=subject)
    await asyncio.gather(*(catalog.load_table("eu.orders") for _ in range(10)))
    assert unity.count(EXCHANGE) == 1
    assert {asked.token for asked in unity.requests if asked.path != EXCHANGE} == {"access-1"}


async def test_the_file_of_an_identity_token_is_read_each_time(
    unity: UnityServer, connected: Connected, tmp_path: Path
) -> None:
    file = tmp_path / "identity"
    file.write_text("identity-1")
    catalog = connected(token_exchange={"subject_token_file": str(file)})
    await catalog.load_table("eu.orders")
    file.write_text("identity-2")
    unity.state.exchanged, unity.state.tokens = {"identity-2": "access-2"}, {"access-2"}
    await catalog.load_table("eu.orders")
    assert unity.count(EXCHANGE) == 2


@pytest.mark.parametrize("content", [None, "", " \n"])
async def test_a_missing_identity_token_is_reported_to_the_operator(
    connected: Connected, tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "identity"
    if content is not None:
        file.write_text(content)
    with pytest.raises(Unavailable, match="cannot sign in to the catalog 'lake'") as raised:
        await connected(token_exchange={"subject_token_file": str(file)}).load_table("eu.orders")
    assert str(file) in (raised.value.detail or "")


async def test_many_requests_renew_a_refused_token_once(
    unity: UnityServer, connected: Connected
) -> None:
    catalog = connected(token_exchange={"subject_token": "identity-1"})
    await catalog.load_table("eu.orders")
    unity.state.exchanged, unity.state.tokens = {"identity-1": "access-2"}, {"access-2"}
    await asyncio.gather(*(catalog.load_table("eu.orders") for _ in range(20)))
    assert unity.count(EXCHANGE) == 2


async def test_a_token_that_is_refused_again_is_not_renewed_for_ever(
    unity: UnityServer, connected: Connected
) -> None:
    unity.state.tokens = set()
    with pytest.raises(Unavailable, match="rejects the gateway's token"):
        await connected(token_exchange={"subject_token": "identity-1"}).load_table("eu.orders")
    assert unity.count(EXCHANGE) == 2
    assert unity.count("/tables/main.eu.orders") == 2


Answer = Callable[[UnityRequest], UnityReply | None]


def oauth(answer: Any) -> Answer:
    return lambda asked: UnityReply.of(answer) if asked.path == "/oauth2/token" else None


@pytest.mark.parametrize("authentication", ["header", "body"])
async def test_an_oauth_client_gets_tokens(
    unity: UnityServer, connected: Connected, authentication: str
) -> None:
    unity.instead = oauth({"access_token": "access-1", "token_type": "Bearer", "expires_in": 3600})
    client = {
        "token_uri": f"{unity.uri}/oauth2/token",
        "client_id": "gate:1",
        "client_secret": SECRET,
        "scope": "all-apis x",
        "client_authentication": authentication,
    }
    await connected(oauth2=client).load_table("eu.orders")
    asked = unity.requests[0]
    expected = {"grant_type": "client_credentials", "scope": "all-apis x"}
    if authentication == "body":
        assert asked.form == {**expected, "client_id": "gate:1", "client_secret": SECRET}
        assert "Authorization" not in asked.headers
    else:
        assert asked.form == expected
        pair = base64.b64decode(asked.headers["Authorization"].removeprefix("Basic ")).decode()
        assert pair == "gate%3A1:s3cret+%26+more"


@pytest.mark.parametrize(
    "reply",
    [
        UnityReply.of({"error": "invalid_client", "error_description": f"{SECRET} is wrong"}, 401),
        UnityReply.of({"error_code": "UNAUTHENTICATED", "message": "Invalid token: identity-1"}, 401),
        UnityReply.of({"access_token": "access-1"}, 201),
        UnityReply.of({"access_token": ""}),
        UnityReply.of({"access_token": "two words"}),
        UnityReply.of({"access_token": "line\nX-Admin: 1"}),
        UnityReply.of({"access_token": 7}),
        UnityReply(200, b"<html>"),
        UnityReply(302, headers={"Location": "http://127.0.0.1:9/"}),
        UnityReply(503),
    ],
)
async def test_a_token_endpoint_without_tokens_is_reported_without_secrets(
    unity: UnityServer, connected: Connected, reply: UnityReply
) -> None:
    unity.instead = lambda asked: reply if asked.path == EXCHANGE else None
    with pytest.raises(Unavailable, match="may not sign in to the catalog 'lake'") as raised:
        await connected(token_exchange={"subject_token": "identity-1"}).load_table("eu.orders")
    told = f"{raised.value.message} {raised.value.detail}"
    assert str(reply.status) in told
    assert "identity-1" not in told
    assert SECRET not in told
    assert unity.count("/tables/main.eu.orders") == 0


@pytest.mark.parametrize("lifetime", [None, 0, -1, "3600", True])
async def test_a_strange_lifetime_does_not_matter(
    unity: UnityServer, connected: Connected, lifetime: object
) -> None:
    answer = UnityReply.of({"access_token": "access-1", "expires_in": lifetime})
    unity.instead = lambda asked: answer if asked.path == EXCHANGE else None
    catalog = connected(token_exchange={"subject_token": "identity-1"})
    for _ in range(2):
        await catalog.load_table("eu.orders")
    assert unity.count(EXCHANGE) == 1
