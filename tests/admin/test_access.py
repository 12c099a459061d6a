"""Credentials and activation links over the Admin API, and who can use it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from admin.conftest import Site
from support.clients.asgi import ask
from support.process.clock import Clock
from support.servers.migrated import new_sqlite

from sluicegate.access.authentication.oauth.failed_login_throttle import FailedLoginThrottle
from sluicegate.admin.authentication import AdminAuthentication
from sluicegate.admin.tokens import AdminTokens
from sluicegate.api.errors import InvalidRequest, NotFound, RateLimited, Unauthenticated
from sluicegate.cli.main import run
from sluicegate.config.sections.admin import AdminSettings
from sluicegate.database import Store
from sluicegate_testing.secrets import keep_secret


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind of database is enough: `test_shares.py` and `test_links.py` use both."""
    return new_sqlite(tmp_path / "sluicegate.db")


async def test_an_activation_link_is_issued_and_the_profile_is_downloaded_once(site: Site) -> None:
    made = await site.ask("POST", "/recipients/acme/tokens", {})
    link = made.json["activation_url"]
    assert (made.status, link.startswith("https://share.example/activate?token=")) == (201, True)
    keep_secret(link.partition("=")[2])
    target = link.removeprefix("https://share.example")
    profile = (await ask(site.app, target, method="POST")).json
    keep_secret(profile["bearerToken"])
    listed = await ask(
        site.app, "/delta-sharing/shares", {"Authorization": f"Bearer {profile['bearerToken']}"}
    )
    assert [each["name"] for each in listed.json["items"]] == ["sales"]
    assert (await ask(site.app, target, method="POST")).status == 410
    access = (await site.ask("GET", "/recipients/acme/access")).json
    assert (access["activation_link"]["state"], len(access["credentials"])) == ("used", 1)


async def test_credentials_are_listed_without_secrets_and_revoked_one_by_one(site: Site) -> None:
    for kind in ("bearer", "oauth"):
        issued = await site.ask(
            "POST", "/recipients/acme/tokens", {"deliver": "profile", "kind": kind, "grace": "1d"}
        )
        profile = issued.json["profile"]
        keep_secret(profile.get("bearerToken") or profile["clientSecret"])
    access = (await site.ask("GET", "/recipients/ACME/access")).json
    assert [(each["kind"], each["state"]) for each in access["credentials"]] in (
        [("oauth", "valid"), ("bearer", "valid")],
        [("bearer", "valid"), ("oauth", "valid")],
    )
    first = access["credentials"][0]["id"]
    assert (await site.ask("DELETE", f"/recipients/acme/tokens/{first}")).status == 204
    assert (await site.ask("DELETE", f"/recipients/acme/tokens/{first}")).status == 404
    assert (await site.ask("POST", "/recipients/acme/revoke")).json == {"ended": 1}
    assert (await site.ask("GET", "/recipients/acme/access")).json["state"] == "revoked"
    assert (await site.ask("POST", "/recipients/acme/restore")).status == 204
    assert (await site.ask("GET", "/recipients/acme/access")).json["state"] == "active"


async def test_administrators_are_created_listed_and_deleted_by_owners(site: Site) -> None:
    wanted = {"name": "sam", "role": "admin", "shares": ["sales"], "token_lifetime": "1h"}
    made = await site.ask("POST", "/admins", wanted)
    keep_secret(made.json["token"])
    headers = {"Authorization": f"Bearer {made.json['token']}"}
    me = await site.ask("GET", "/me", role=None, headers=headers)
    assert (me.json["name"], me.json["role"], me.json["shares"]) == ("sam", "admin", ["sales"])
    assert (await site.ask("POST", "/admins", wanted)).status == 400
    listed = await site.ask("GET", "/admins")
    assert made.json["token"] not in listed.body.decode()
    assert "sam" in [each["name"] for each in listed.json["items"]]
    assert (await site.ask("DELETE", "/admins/SAM")).status == 204
    assert (await site.ask("GET", "/me", role=None, headers=headers)).status == 401
    assert (await site.ask("DELETE", "/admins/sam")).status == 404


async def test_tokens_of_recipients_and_administrators_are_not_interchangeable(site: Site) -> None:
    issued = await site.ask("POST", "/recipients/acme/tokens", {"deliver": "profile"})
    token = issued.json["profile"]["bearerToken"]
    keep_secret(token)
    refused = await site.ask("GET", "/me", role=None, headers={"Authorization": f"Bearer {token}"})
    assert (refused.status, refused.headers["www-authenticate"][:6]) == (401, "Bearer")
    owner = {"Authorization": f"Bearer {await site.token('owner')}"}
    assert (await ask(site.app, "/delta-sharing/shares", owner)).status == 401


async def test_changes_are_logged_with_the_administrator_and_without_secrets(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    issued = await site.ask("POST", "/recipients/acme/tokens", {"deliver": "profile"})
    secret = issued.json["profile"]["bearerToken"]
    keep_secret(secret)
    lines = [record.getMessage() for record in caplog.records]
    assert "owner 'owner': POST /admin/v1/recipients/acme/tokens" in lines
    logged = str([record.__dict__ for record in caplog.records])
    assert secret not in logged
    assert await site.token("owner") not in logged


async def test_a_failed_login_is_delayed_and_too_many_are_refused(store: Store) -> None:
    delays: list[float] = []

    async def sleep(seconds: float) -> None:
        delays.append(seconds)

    tokens = AdminTokens(store, token_lifetime=100)
    made = await tokens.create("ada", "owner")
    throttle = FailedLoginThrottle(sleep=sleep, capacity=1)
    authentication = AdminAuthentication(AdminSettings(), tokens, throttle=throttle)
    for wrong in ("x", "slgadm_" + "0" * 43, made.token[:-1] + "~"):
        with pytest.raises(Unauthenticated):
            await authentication.authenticate({"authorization": f"Bearer {wrong}"}, None)
    assert len(delays) == 3
    full = AdminAuthentication(AdminSettings(), tokens, throttle=FailedLoginThrottle(capacity=0))
    with pytest.raises(RateLimited):
        await full.authenticate({"authorization": "Bearer x"}, None)
    good = {"authorization": f"Bearer {made.token}"}
    assert (await full.authenticate(good, None)).name == "ada"


async def test_a_token_expires_and_can_be_replaced(store: Store) -> None:
    clock = Clock()
    tokens = AdminTokens(store, token_lifetime=100, now=clock)
    made = await tokens.create("ada", "owner", token_lifetime=5)
    assert made.token not in repr(made)
    clock.advance(5_000)
    with pytest.raises(Unauthenticated, match="expired"):
        await tokens.authenticate(made.token)
    again = await tokens.create("ADA", "viewer", replace=True)
    assert (await tokens.authenticate(again.token)).role == "viewer"  # type: ignore[union-attr]
    with pytest.raises(Unauthenticated, match="unknown"):
        await tokens.authenticate(made.token)
    with pytest.raises(NotFound, match="no administrator 'adda'; known: ADA"):
        await tokens.delete("adda")


@pytest.mark.parametrize(
    ("name", "role", "shares", "lifetime", "message"),
    [
        ("a b", "admin", None, None, "cannot contain a space"),
        ("ada", "admin", (), None, "shares is empty"),
        ("ada", "owner", ("sales",), None, "an owner manages all shares"),
        ("ada", "admin", ("a/b",), None, "cannot contain a slash"),
        ("ada", "admin", None, 366 * 86_400, "between 1s and 365d"),
        ("ada", "admin", None, 0, "between 1s and 365d"),
        ("ada", "onwer", None, None, "did you mean 'owner'"),
    ],
)
async def test_invalid_administrators_are_refused(
    tmp_path: Path,
    name: str,
    role: str,
    shares: tuple[str, ...] | None,
    lifetime: int | None,
    message: str,
) -> None:
    store = await Store.open(f"sqlite:///{tmp_path}/admins.db")
    tokens = AdminTokens(store, token_lifetime=100)
    with pytest.raises(InvalidRequest, match=message):
        await tokens.create(name, role, shares=shares, token_lifetime=lifetime)  # type: ignore[arg-type]
    assert await tokens.list() == []
    await store.aclose()


def test_the_command_creates_lists_and_deletes_administrators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gateway.yaml").write_text("catalogs: {raw: {type: paths}}\n")
    assert run(["admin", "create", "ada", "--role", "owner"]) == 0
    token, said = capfd.readouterr()
    keep_secret(token.strip())
    assert token.startswith("slgadm_")
    assert "set admin: {}" in said
    arguments = [
        "admin",
        "create",
        "sam",
        "--role",
        "admin",
        "--share",
        "sales",
        "--output",
        "sam.token",
    ]
    assert run(arguments) == 0
    assert capfd.readouterr().out == ""
    file = tmp_path / "sam.token"
    assert (file.stat().st_mode & 0o777, file.read_text()[:7]) == (0o600, "slgadm_")
    keep_secret(file.read_text().strip())
    assert run(["admin", "list"]) == 0
    assert [line.split()[:3] for line in capfd.readouterr().out.splitlines()[1:]] == [
        ["ada", "owner", "all"],
        ["sam", "admin", "sales"],
    ]
    assert run(["admin", "list", "--json"]) == 0
    assert '"role": "owner"' in capfd.readouterr().out
    assert run(["admin", "delete", "sam"]) == 0
    assert run(["admin", "delete", "sam"]) == 1
