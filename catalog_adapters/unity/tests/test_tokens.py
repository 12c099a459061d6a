"""Who the gateway is to the catalog: tokens, their renewal, and what happens when they are refused."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sluicegate.api import Unavailable
from sluicegate.testing.servers.unity import Asked, Reply, UnityServer, table_info

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
    assert {asked.token for asked in unity.asked} == {"access-1"}


async def test_nothing_is_shown_where_nothing_is_configured(
    unity: UnityServer, connected: Connected
) -> None:
    unity.state.tokens = None
    await connected().load_table("eu.orders")
    assert "Authorization" not in unity.asked[0].headers


async def test_a_refused_fixed_token_is_told_to_the_operator(
    unity: UnityServer, connected: Connected
) -> None:
    with pytest.raises(Unavailable, match="does not accept the gateway's token; ask its") as raised:
        await connected(token="wrong").load_table("eu.orders")
    assert "401 UNAUTHENTICATED" in (raised.value.detail or "")
    assert len(unity.asked) == 1


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
    assert {asked.token for asked in unity.asked if asked.path != EXCHANGE} == {"access-1"}


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
async def test_a_missing_identity_token_is_told_to_the_operator(
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
    with pytest.raises(Unavailable, match="does not accept the gateway's token"):
        await connected(token_exchange={"subject_token": "identity-1"}).load_table("eu.orders")
    assert unity.count(EXCHANGE) == 2
    assert unity.count("/tables/main.eu.orders") == 2


Answer = Callable[[Asked], Reply | None]


def oauth(answer: Any) -> Answer:
    return lambda asked: Reply.of(answer) if asked.path == "/oauth2/token" else None


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
    asked = unity.asked[0]
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
        Reply.of({"error": "invalid_client", "error_description": f"{SECRET} is wrong"}, 401),
        Reply.of({"error_code": "UNAUTHENTICATED", "message": "Invalid token: identity-1"}, 401),
        Reply.of({"access_token": "access-1"}, 201),
        Reply.of({"access_token": ""}),
        Reply.of({"access_token": "two words"}),
        Reply.of({"access_token": "line\nX-Admin: 1"}),
        Reply.of({"access_token": 7}),
        Reply(200, b"<html>"),
        Reply(302, headers={"Location": "http://127.0.0.1:9/"}),
        Reply(503),
    ],
)
async def test_a_token_endpoint_that_gives_none_is_told_without_secrets(
    unity: UnityServer, connected: Connected, reply: Reply
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
    answer = Reply.of({"access_token": "access-1", "expires_in": lifetime})
    unity.instead = lambda asked: answer if asked.path == EXCHANGE else None
    catalog = connected(token_exchange={"subject_token": "identity-1"})
    for _ in range(2):
        await catalog.load_table("eu.orders")
    assert unity.count(EXCHANGE) == 1
