"""Administrators with tokens of an OIDC issuer, and the networks that they can connect from."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from support.servers.issuer import AUDIENCE, JWKS, Issuer, running_issuer
from support.servers.migrated import new_sqlite

from sluicegate.access.authentication.oauth.failed_login_throttle import FailedLoginThrottle
from sluicegate.admin.authentication import AdminAuthentication
from sluicegate.admin.identity import Admin
from sluicegate.admin.tokens import AdminTokens
from sluicegate.api.errors import PermissionDenied, Unauthenticated, Unavailable
from sluicegate.config.sections.admin import AdminSettings
from sluicegate.database import Store

ROLES = {
    "readers": "viewer",
    "sales": {"role": "admin", "shares": ["Sales"]},
    "returns": {"role": "admin", "shares": "returns"},
    "stewards": "admin",
    "platform": "owner",
}


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with running_issuer() as running:
        yield running


class Door:
    """Authenticates tokens of the issuer."""

    def __init__(self, issuer: Issuer, store: Store, **section: Any) -> None:
        async def sleep(_: float) -> None:
            self.delayed += 1

        settings = AdminSettings.model_validate(
            {"oidc": [{"issuer": issuer.address, "audience": AUDIENCE, "roles": ROLES}], **section}
        )
        self.delayed = 0
        self.authentication = AdminAuthentication(
            settings, AdminTokens(store, token_lifetime=60), throttle=FailedLoginThrottle(sleep=sleep)
        )

    async def ask(self, token: str, address: str | None = "192.0.2.1") -> Admin:
        headers = {"authorization": f"Bearer {token}"}
        return await self.authentication.authenticate(headers, address)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await Store.open(new_sqlite(tmp_path / "sluicegate.db"))
    yield opened
    await opened.aclose()


@pytest.fixture
async def door(issuer: Issuer, store: Store) -> AsyncIterator[Door]:
    made = Door(issuer, store)
    yield made
    await made.authentication.aclose()


@pytest.mark.parametrize(
    ("roles", "role", "shares"),
    [
        ("readers", "viewer", None),
        (["readers", "platform", "unknown"], "owner", None),
        (["sales"], "admin", {"sales"}),
        (["sales", "returns", "readers"], "admin", {"sales", "returns"}),
        (["sales", "stewards"], "admin", None),
    ],
)
async def test_the_highest_role_of_the_claim_applies(
    door: Door, issuer: Issuer, roles: Any, role: str, shares: set[str] | None
) -> None:
    admin = await door.ask(issuer.token(sub="ada", roles=roles))
    assert (admin.name, admin.role, admin.method) == ("ada", role, "oidc")
    assert admin.shares == shares


@pytest.mark.parametrize("roles", [None, [], "unknown", ["Platform"], {"platform": 1}, [1], 7])
async def test_a_token_without_a_mapped_role_is_denied(door: Door, issuer: Issuer, roles: Any) -> None:
    with pytest.raises(PermissionDenied, match="requires the role viewer"):
        await door.ask(issuer.token(roles=roles))
    assert door.delayed == 0


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"aud": "other"}, "another audience"),
        ({"iss": "https://other.example"}, "not one of an administrator"),
        ({"exp": int(time.time()) - 61}, "has expired"),
        ({"exp": int(time.time()) + 366 * 86_400}, "more than a year"),
        ({"sub": None}, "a claim is missing"),
        ({"sub": "ada\nowner"}, "is not a name"),
        ({"sub": ""}, "is not a name"),
    ],
)
async def test_an_invalid_token_is_refused_with_a_delay(
    door: Door, issuer: Issuer, claims: dict[str, Any], message: str
) -> None:
    with pytest.raises(Unauthenticated, match=message):
        await door.ask(issuer.token(**{"roles": "platform", **claims}))
    assert door.delayed == 1


async def test_a_forged_token_is_refused(door: Door, issuer: Issuer) -> None:
    head, claims, signature = issuer.token(roles="platform").split(".")
    other = issuer.token(roles="readers").split(".")[1]
    with pytest.raises(Unauthenticated, match="signature is wrong"):
        await door.ask(f"{head}.{other}.{signature}")
    with pytest.raises(Unauthenticated):
        await door.ask(f"{head}.{claims}.")


async def test_without_the_issuers_keys_nobody_gets_in(issuer: Issuer, store: Store) -> None:
    door = Door(issuer, store)
    issuer.fail(JWKS)
    try:
        with pytest.raises(Unavailable):
            await door.ask(issuer.token(roles="platform"))
    finally:
        del issuer.answers[JWKS]
        await door.authentication.aclose()


@pytest.mark.parametrize(
    ("address", "allowed"),
    [("10.1.2.3", True), ("::ffff:10.1.2.3", True), ("11.0.0.1", False), ("::1", False), (None, False)],
)
async def test_administrators_connect_only_from_their_networks(
    issuer: Issuer, store: Store, address: str | None, allowed: bool
) -> None:
    door = Door(issuer, store, allow_from=["10.0.0.0/8"])
    token = (await AdminTokens(store, token_lifetime=60).create("ada", "owner")).token
    if allowed:
        assert (await door.ask(token, address)).name == "ada"
    else:
        with pytest.raises(PermissionDenied, match="from this address"):
            await door.ask(token, address)


@pytest.mark.parametrize(
    "section",
    [
        {"oidc": [{"issuer": "https://a.example", "audience": "x", "roles": {}}]},
        {"oidc": [{"issuer": "https://a.example", "audience": "x", "roles": {"a": "root"}}]},
        {"oidc": [{"issuer": "http://a.example", "audience": "x", "roles": {"a": "owner"}}]},
        {
            "oidc": [
                {
                    "issuer": "https://a.example",
                    "audience": "x",
                    "roles": {"a": {"role": "owner", "shares": ["sales"]}},
                }
            ]
        },
        {"allow_from": ["10.0.0.1/8"]},
    ],
)
def test_invalid_sections_are_refused(section: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AdminSettings.model_validate(section)
