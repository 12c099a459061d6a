"""Who is logged in, for how long, and what stolen or foreign cookies and forms can do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from console.conftest import Site
from sqlalchemy import select, update
from support.servers.databases import database_url

from sluicegate.admin.console.sessions.service import Sessions
from sluicegate.admin.oidc.identity import AdminIdentity
from sluicegate.config.sections.admin import AdminSettings, ConsoleSettings
from sluicegate.database import Store
from sluicegate.database.admin_tables import console_sessions

__all__ = ["database_url"]

COOKIE = "__Host-sluicegate-session"
ISSUER = "https://id.example"


async def test_an_administrator_logs_in_and_out(site: Site) -> None:
    browser = await site.logged_in("viewer")
    assert "viewer" in browser.page.source
    stolen = dict(browser.cookies)
    page = await browser.submit("Log out")
    assert (page.heading, COOKIE in browser.cookies) == ("Log in", False)
    browser.cookies = stolen
    assert (await browser.open("/console")).heading == "Log in"


async def test_a_login_never_adopts_a_session_of_the_browser(site: Site) -> None:
    attacker = await site.logged_in("viewer")
    planted = attacker.cookies[COOKIE]
    victim = site.browser()
    victim.cookies[COOKIE] = "a" * 43
    await victim.open("/console/login")
    await victim.submit("Log in", token=await site.token("owner"))
    assert victim.cookies[COOKIE] not in ("a" * 43, planted)
    # A login in a browser with a session ends that session.
    await victim.open("/console")
    again = dict(victim.cookies)
    fields = dict((await _login_form(site)).items())
    victim.cookies["__Host-sluicegate-login"] = fields.pop("cookie")
    await victim.post("/console/login", fields | {"token": await site.token("owner")})
    victim.cookies = again
    assert (await victim.open("/console")).heading == "Log in"


async def _login_form(site: Site) -> dict[str, str]:
    browser = site.browser()
    await browser.open("/console/login")
    values = dict(browser.page.form("Log in").form_values())
    return values | {"cookie": browser.cookies["__Host-sluicegate-login"]}


async def test_a_session_ends_with_its_administrator(site: Site) -> None:
    browser = await site.logged_in("admin")
    await site.tokens.delete("admin")
    assert (await browser.open("/console")).heading == "Log in"
    async with site.gateway.parts.store.read() as connection:
        assert not (await connection.execute(select(console_sessions))).all()


async def test_a_replaced_token_ends_the_session(site: Site) -> None:
    browser = await site.logged_in("admin")
    await site.tokens.create("admin", "admin", replace=True)
    assert (await browser.open("/console")).heading == "Log in"


async def test_the_database_contains_no_cookie(site: Site) -> None:
    browser = await site.logged_in()
    async with site.gateway.parts.store.read() as connection:
        rows = (await connection.execute(select(console_sessions))).all()
    assert rows
    assert browser.cookies[COOKIE] not in repr(rows)
    assert browser.cookies[COOKIE].encode() not in [row.digest for row in rows]


async def test_an_ended_session_sends_no_form(site: Site) -> None:
    browser = await site.logged_in()
    await browser.open("/console/recipients/acme/delete")
    form = dict(browser.page.form("Delete the recipient").form_values())
    async with site.gateway.parts.store.append() as connection:
        await connection.execute(update(console_sessions).values(expires_at=1))
    answer = await browser.post("/console/recipients/acme/delete", form)
    assert answer.status == 403
    assert b"log in again" in answer.body
    assert (await (await site.logged_in()).open("/console/recipients/acme")).status == 200


class Clock:
    """Sessions with a clock."""

    def __init__(self, store: Store) -> None:
        self.now = 1_000_000_000_000
        self.store = store
        self.sessions = self.configured()

    def configured(self, **roles: Any) -> Sessions:
        """Sessions with the roles of an issuer."""
        issuer = {"issuer": ISSUER, "audience": "a", "roles": roles or {"staff": "viewer"}}
        return Sessions(
            self.store,
            AdminSettings.model_validate({"oidc": [issuer]}),
            ConsoleSettings.model_validate({"idle_timeout": "30m", "session_lifetime": "8h"}),
            now=lambda: self.now,
        )

    def wait(self, minutes: int) -> None:
        self.now += minutes * 60_000


@pytest.fixture
async def clock(database_url: str) -> AsyncIterator[Clock]:
    store = await Store.open(database_url)
    yield Clock(store)
    await store.aclose()


async def test_a_session_lasts_while_it_is_used_but_not_for_ever(clock: Clock) -> None:
    cookie = await clock.sessions.start_for_identity(AdminIdentity(ISSUER, "ada", ("staff",)))
    for _ in range(16):
        assert await clock.sessions.find(cookie) is not None
        clock.wait(29)
    found = await clock.sessions.find(cookie)
    assert found is not None
    assert found.ends_at - clock.now == 16 * 60_000
    clock.wait(16)
    assert await clock.sessions.find(cookie) is None


async def test_an_idle_session_ends(clock: Clock) -> None:
    cookie = await clock.sessions.start_for_identity(AdminIdentity(ISSUER, "ada", ("staff",)))
    clock.wait(30)
    assert await clock.sessions.find(cookie) is None
    await clock.sessions.start_for_identity(AdminIdentity(ISSUER, "bob", ("staff",)))
    async with clock.store.read() as connection:
        rows = (await connection.execute(select(console_sessions))).all()
    assert [row.identity["name"] for row in rows] == ["bob"]


async def test_a_session_at_an_issuer_has_the_roles_of_the_current_configuration(clock: Clock) -> None:
    identity = AdminIdentity(ISSUER, "ada", ("staff", "stewards"))
    cookie = await clock.sessions.start_for_identity(identity)
    limited = {"role": "admin", "shares": ["Sales"]}
    for roles, expected in (
        ({"staff": "viewer"}, ("viewer", None)),
        ({"staff": "viewer", "stewards": limited}, ("admin", {"sales"})),
        ({"others": "owner"}, None),
    ):
        found = await clock.configured(**roles).find(cookie)
        assert (found and (found.admin.role, found.admin.shares)) == expected
