"""Who gets credentials, when they are given again, and what of a vendor's answer is not handed on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.servers.migrated import new_sqlite

from sluicegate.api import (
    CredentialVendor,
    PermissionDenied,
    Scope,
    StorageError,
    TemporaryCredentials,
    Unauthenticated,
    UnsupportedOperation,
)
from sluicegate.vending.checks import check_handed_on

from .conftest import LIFETIME, ORDERS, ROOT, Desk


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind of database is enough here."""
    return new_sqlite(tmp_path / "sluicegate.db")


async def issue(desk: Desk, name: str = "acme", **options: Any) -> TemporaryCredentials:
    return await desk.vending.issue(desk.principals[name], ORDERS, desk.source, **options)


async def test_the_vendor_gets_the_root_and_the_configured_lifetime(desk: Desk) -> None:
    credentials = await issue(desk)
    acme = desk.principals["acme"]
    assert desk.vendor.scopes == [Scope((ROOT,), LIFETIME, acme)]
    assert credentials == desk.vendor.answered[0]


@pytest.mark.parametrize("spelled", [ROOT, f"{ROOT}/", ROOT.replace("memory", "MEMORY")])
async def test_directories_are_requested_in_one_spelling(desk: Desk, spelled: str) -> None:
    await issue(desk, locations=[spelled])
    assert desk.vendor.scopes[0].locations == (ROOT,)


@pytest.mark.parametrize(
    ("seconds_later", "times_vended"),
    [(0, 1), (LIFETIME / 2 - 5, 1), (LIFETIME / 2 + 5, 2), (LIFETIME + 5, 2)],
)
async def test_credentials_are_given_again_while_half_of_their_life_is_left(
    desk: Desk, seconds_later: float, times_vended: int
) -> None:
    first = await issue(desk)
    desk.clock.advance(seconds_later * 1000)
    if times_vended == 2:  # the fake's own clock stands still
        desk.vendor = _later(desk, seconds_later)
    second = await issue(desk)
    assert len(desk.vendor.scopes) == times_vended
    assert (first == second) == (times_vended == 1)


def _later(desk: Desk, seconds: float) -> Any:
    vend = desk.vendor.vend

    async def vend_later(scope: Scope) -> TemporaryCredentials:
        made = await vend(scope)
        return replace(made, expires_at=(made.expires_at or 0) + int(seconds * 1000))

    desk.vendor.vend = vend_later  # type: ignore[method-assign]
    return desk.vendor


@pytest.mark.parametrize(
    "other",
    [
        {"name": "rival"},
        {"locations": [f"{ROOT}/part"]},
        {"binding": "session"},
        {"lifetime": 1800},
        {"kind": "hadoop-token"},
    ],
    ids=lambda other: next(iter(other)),
)
async def test_nothing_else_is_given_again(desk: Desk, other: dict[str, Any]) -> None:
    first = await issue(desk)
    second = await issue(desk, **other)
    assert first.secret != second.secret
    assert len(desk.vendor.scopes) == 2


async def test_a_recipient_whose_properties_changed_gets_others(desk: Desk) -> None:
    first = await issue(desk)
    desk.principals["acme"] = replace(desk.principals["acme"], properties={"country": "DE"})
    assert (await issue(desk)).secret != first.secret  # properties may be tags of the session


async def test_credentials_without_an_end_are_not_kept(desk: Desk) -> None:
    _answering(desk, secret={"access_key_id": "a", "secret_access_key": "b"}, expires_at=None)
    for _ in range(2):
        assert (await issue(desk, binding="full")).expires_at is None
    assert len(desk.vendor.scopes) == 2


async def test_many_at_once_are_vended_once(desk: Desk) -> None:
    given = await asyncio.gather(*(issue(desk) for _ in range(20)))
    assert len(desk.vendor.scopes) == 1
    assert all(credentials == given[0] for credentials in given)


async def test_closing_ends_what_is_still_vended(desk: Desk) -> None:
    begun, ended = asyncio.Event(), False

    async def endless(scope: Scope) -> TemporaryCredentials:
        nonlocal ended
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # a connection takes a turn to close
            ended = True
        raise AssertionError

    desk.vendor.vend = endless  # type: ignore[method-assign]
    request = asyncio.ensure_future(issue(desk))
    await begun.wait()
    await desk.vending.aclose()
    assert ended
    with pytest.raises(asyncio.CancelledError):
        await request


async def test_a_request_that_goes_away_does_not_take_the_credentials_with_it(desk: Desk) -> None:
    answering = asyncio.Event()
    vend = desk.vendor.vend

    async def slow(scope: Scope) -> TemporaryCredentials:
        await answering.wait()
        return await vend(scope)

    desk.vendor.vend = slow  # type: ignore[method-assign]
    first = asyncio.ensure_future(issue(desk))
    second = asyncio.ensure_future(issue(desk))
    await asyncio.sleep(0.05)
    first.cancel()
    answering.set()
    assert (await second) == desk.vendor.answered[0]
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_revoked_recipient_gets_none_and_nothing_old_when_it_comes_back(desk: Desk) -> None:
    first = await issue(desk)
    desk.clock.advance(1000)
    await desk.recipients.revoke("acme")
    with pytest.raises(Unauthenticated, match="was revoked"):
        await issue(desk)
    await desk.recipients.restore("acme")
    assert (await issue(desk)).secret != first.secret
    assert len(desk.vendor.scopes) == 2


async def test_an_unknown_recipient_gets_none(desk: Desk) -> None:
    desk.principals["acme"] = replace(desk.principals["acme"], id="another of this name")
    with pytest.raises(Unauthenticated):
        await issue(desk)
    assert desk.vendor.scopes == []


def _answering(desk: Desk, **changed: Any) -> None:
    vend = desk.vendor.vend

    async def answer(scope: Scope) -> TemporaryCredentials:
        return replace(await vend(scope), **changed)

    desk.vendor.vend = answer  # type: ignore[method-assign]


def _secret(**changed: str) -> Mapping[str, str]:
    whole = {"access_key_id": "a", "secret_access_key": "TOP-SECRET", "session_token": "c"}
    return whole | changed


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"location": f"{ROOT}2"}, "instead of"),
        ({"location": "memory://lake"}, "instead of"),
        ({"kind": "ibm"}, "unknown kind"),
        ({"kind": "azure"}, "lack sas_token"),
        ({"secret": _secret(session_token="")}, "lack session_token"),
        ({"expires_at": 1_000}, "expired already"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_unusable_answers_are_not_handed_on(
    desk: Desk, changed: dict[str, Any], reason: str
) -> None:
    _answering(desk, **changed)
    with pytest.raises(StorageError) as raised:
        await issue(desk)
    assert reason in (raised.value.detail or "")
    assert raised.value.message == "credentials for this table are not available now; try again later"
    assert "TOP-SECRET" not in f"{raised.value.detail}"
    assert await desk.entries() == []


async def test_a_storage_that_exceeds_the_requested_lifetime_is_not_trusted(desk: Desk) -> None:
    longer = int(desk.clock.now) + (LIFETIME + 120) * 1000
    _answering(desk, expires_at=longer)
    scope = Scope((ROOT,), LIFETIME, desk.principals["acme"])
    with pytest.raises(StorageError) as raised:
        check_handed_on(
            await desk.vendor.vend(scope), scope, int(desk.clock.now), str, may_outlive=False
        )
    assert f"longer than the requested {LIFETIME} s" in (raised.value.detail or "")


async def test_a_catalog_gives_lives_of_its_own(desk: Desk) -> None:
    longer = int(desk.clock.now) + 43_200_000
    _answering(desk, expires_at=longer)
    assert (await issue(desk)).expires_at == longer


async def test_a_catalogs_keys_without_an_end_are_used_and_never_handed_on(desk: Desk) -> None:
    acme = desk.principals["acme"]
    _answering(
        desk,
        location="memory://lake",
        secret={"access_key_id": "a", "secret_access_key": "b"},
        expires_at=None,
    )
    own = await desk.vending.for_gateway(acme, desk.source)
    assert own is not None
    assert own.secret == {"access_key_id": "a", "secret_access_key": "b"}
    assert await desk.vending.for_gateway(acme, desk.source) == own
    assert len(desk.vendor.scopes) == 1
    with pytest.raises(UnsupportedOperation, match=r"never expire.*presigned URLs \(url\)"):
        await issue(desk)
    assert await desk.entries() == []


async def test_a_session_without_a_stated_end_is_used_for_a_short_time(desk: Desk) -> None:
    """Nessie's sessions end, although its responses don't say when."""
    acme = desk.principals["acme"]
    _answering(desk, expires_at=None)
    own = await desk.vending.for_gateway(acme, desk.source)
    assert own is not None
    assert own.expires_at == pytest.approx(desk.clock() + 300_000, abs=1)
    desk.clock.now += 160_000
    renewed = await desk.vending.for_gateway(acme, desk.source)
    assert len(desk.vendor.scopes) == 2
    assert renewed is not None
    assert renewed.expires_at == pytest.approx(desk.clock() + 300_000, abs=1)
    with pytest.raises(UnsupportedOperation, match="no expiry is stated") as raised:
        await issue(desk)
    assert "'X-Iceberg-Access-Delegation: remote-signing'" in raised.value.message
    assert "'credentials: storage'" in raised.value.message


@pytest.mark.parametrize(
    "changed", [{"secret": {}}, {"location": f"{ROOT}2"}, {"expires_at": 1_000}, {"kind": "ibm"}]
)
async def test_what_a_catalog_gives_for_nothing_is_not_used(
    desk: Desk, changed: dict[str, Any]
) -> None:
    _answering(desk, **changed)
    with pytest.raises(StorageError):
        await desk.vending.for_gateway(desk.principals["acme"], desk.source)


async def test_a_failing_upstream_reveals_nothing_to_recipients(desk: Desk) -> None:
    desk.vendor.failure = RuntimeError("https://upstream.internal said: token=TOP-SECRET")
    with pytest.raises(StorageError) as raised:
        await issue(desk)
    assert "upstream" not in raised.value.message
    assert raised.value.detail == "the vendor failed: RuntimeError"


async def test_a_vendors_own_refusal_is_reported(desk: Desk) -> None:
    desk.vendor.failure = PermissionDenied("the binding 'full' is not allowed for this storage")
    with pytest.raises(PermissionDenied, match="binding 'full'"):
        await issue(desk, binding="full")


async def test_a_failure_is_not_kept(desk: Desk) -> None:
    desk.vendor.failure = StorageError("the cloud gives none now")
    with pytest.raises(StorageError):
        await issue(desk)
    desk.vendor.failure = None
    assert await issue(desk) == desk.vendor.answered[0]


async def test_the_absence_of_vendors_is_reported(desk: Desk) -> None:
    desk.source = replace(desk.source, vendor=None)
    with pytest.raises(UnsupportedOperation, match="no temporary credentials are available"):
        await issue(desk)


async def test_a_catalog_that_does_not_vend_for_a_directory_gets_no_request(desk: Desk) -> None:
    class Elsewhere(CredentialVendor):
        def vends(self, location: str) -> bool:
            return False

        async def vend(self, scope: Scope) -> TemporaryCredentials:
            raise AssertionError("asked")

    desk.source = replace(desk.source, vendor=Elsewhere())
    with pytest.raises(UnsupportedOperation):
        await issue(desk)


async def test_the_gateways_own_use_never_vends_where_the_storage_can_sign(desk: Desk) -> None:
    acme = desk.principals["acme"]
    assert await desk.vending.for_gateway(acme, replace(desk.source, vendor=None)) is None
    own = await desk.vending.for_gateway(acme, desk.source)
    assert own == desk.vendor.answered[0]
    assert await desk.vending.for_gateway(acme, desk.source) == own
    assert await desk.entries() == []  # nothing left the gateway
    assert await issue(desk) != own
