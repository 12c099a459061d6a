"""Recipients and the life of their tokens."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import func, select, update
from support.process.clock import Clock

from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.authentication.bearer_tokens import BearerTokens
from sluicegate.access.grants import Grants
from sluicegate.access.recipients.credentials import IssuedCredential
from sluicegate.access.recipients.service import Recipients
from sluicegate.api.errors import InvalidRequest, NotFound, Unauthenticated
from sluicegate.database import Store
from sluicegate.database.tables import recipients as recipients_table
from sluicegate.database.tables import tokens
from sluicegate_testing.fakes import authentication_request as asking

SECOND = 1000


@pytest.fixture
def grants(store: Store) -> Grants:
    """Grants that look at the database's revision each time."""
    return Grants(store, max_age=0)


async def _why_refused(grants: Grants, clock: Clock, issued: IssuedCredential) -> str | None:
    authentication = Authentication([BearerTokens(grants, now=clock)])
    try:
        await authentication.authenticate(asking(f"Bearer {issued.secret}"))
    except Unauthenticated as error:
        found = re.search("unknown|revoked|expired", error.message)
        assert found
        return found[0]
    return None


async def test_a_token_is_random_and_has_the_requested_lifetime(
    recipients: Recipients, clock: Clock
) -> None:
    one = await recipients.create("one")
    other = await recipients.create("other", token_lifetime=7)
    assert re.fullmatch(r"slg_[A-Za-z0-9_-]{43}", one.secret)
    assert one.secret != other.secret
    assert (one.expires_at, other.expires_at) == (clock() + 100 * SECOND, clock() + 7 * SECOND)
    assert one.secret not in repr(one)


async def test_a_token_expires(recipients: Recipients, grants: Grants, clock: Clock) -> None:
    issued = await recipients.create("acme")
    clock.advance(100 * SECOND - 1)
    assert await _why_refused(grants, clock, issued) is None
    clock.advance(1)
    assert await _why_refused(grants, clock, issued) == "expired"


async def test_rotation_keeps_the_old_token_for_the_grace_period(
    recipients: Recipients, grants: Grants, clock: Clock
) -> None:
    old = await recipients.create("acme")
    new = await recipients.rotate("ACME")
    clock.advance(10 * SECOND - 1)
    assert await _why_refused(grants, clock, old) is None
    clock.advance(1)
    assert await _why_refused(grants, clock, old) == "expired"
    assert await _why_refused(grants, clock, new) is None


@pytest.mark.parametrize("grace", [None, 50])
async def test_rotation_never_lengthens_an_old_token(
    recipients: Recipients, grants: Grants, clock: Clock, grace: int | None
) -> None:
    old = await recipients.create("acme", token_lifetime=3)
    await recipients.rotate("acme", grace=grace)
    clock.advance(3 * SECOND)
    assert await _why_refused(grants, clock, old) == "expired"


async def test_rotation_without_grace_ends_the_old_token_now(
    recipients: Recipients, grants: Grants, clock: Clock
) -> None:
    old = await recipients.create("acme")
    await recipients.rotate("acme", grace=0)
    assert await _why_refused(grants, clock, old) == "expired"


async def test_rotation_keeps_the_recipients_own_lifetime(recipients: Recipients, clock: Clock) -> None:
    await recipients.create("acme", token_lifetime=7)
    assert (await recipients.rotate("acme")).expires_at == clock() + 7 * SECOND
    assert (await recipients.rotate("acme", token_lifetime=9)).expires_at == clock() + 9 * SECOND
    assert (await recipients.rotate("acme")).expires_at == clock() + 7 * SECOND


async def test_revoking_ends_all_tokens_at_once(
    recipients: Recipients, grants: Grants, clock: Clock
) -> None:
    tokens_of_acme = [await recipients.create("acme"), await recipients.rotate("acme")]
    other = await recipients.create("other")
    assert await recipients.revoke("acme") == 2
    assert [await _why_refused(grants, clock, each) for each in tokens_of_acme] == ["revoked"] * 2
    assert await _why_refused(grants, clock, other) is None
    assert await recipients.revoke("acme") == 0
    assert await _why_refused(grants, clock, await recipients.rotate("acme")) is None


async def test_tokens_that_ended_long_ago_are_forgotten(
    recipients: Recipients, store: Store, clock: Clock
) -> None:
    await recipients.create("acme")
    for _ in range(3):
        await recipients.rotate("acme")
    clock.advance(40 * 86_400 * SECOND)
    await recipients.rotate("acme")
    async with store.read() as connection:
        assert (await connection.execute(select(func.count()).select_from(tokens))).scalar_one() == 1


async def test_recipients_are_listed_by_name_with_their_valid_tokens(
    recipients: Recipients, clock: Clock
) -> None:
    await recipients.create("Zeta")
    await recipients.create("acme", comment="The acme")
    newest = await recipients.rotate("acme", token_lifetime=200)
    await recipients.create("beta")
    await recipients.revoke("beta")
    listed = await recipients.list()
    assert [(each.name, each.comment, each.tokens, each.expires_at) for each in listed] == [
        ("acme", "The acme", 2, newest.expires_at),
        ("beta", None, 0, None),
        ("Zeta", None, 1, clock() + 100 * SECOND),
    ]
    assert [each.revoked_at for each in listed] == [None, clock(), None]


async def test_recipients_are_listed_with_the_kinds_of_their_credentials(
    recipients: Recipients, clock: Clock
) -> None:
    await recipients.create("none")
    await recipients.revoke("none")
    await recipients.create("bearer")
    client = await recipients.create("oauth", kind="oauth", token_lifetime=50)
    await recipients.create("both", token_lifetime=5)
    await recipients.rotate("both", kind="oauth", token_lifetime=500)
    listed = {each.name: (each.tokens, each.kinds, each.expires_at) for each in await recipients.list()}
    assert listed == {
        "none": (0, (), None),
        "bearer": (1, ("bearer",), clock() + 100 * SECOND),
        "oauth": (1, ("oauth",), client.expires_at),
        "both": (2, ("bearer", "oauth"), clock() + 500 * SECOND),
    }


async def test_a_client_has_an_id_that_is_no_secret_and_a_secret_that_is_never_shown(
    recipients: Recipients, grants: Grants
) -> None:
    issued = await recipients.create("acme", kind="oauth")
    assert re.fullmatch(r"slgs_[A-Za-z0-9_-]{43}", issued.secret)
    assert str(issued.client_id) in repr(issued)
    assert issued.secret not in repr(issued)
    client = await grants.client(str(issued.client_id))
    assert client is not None
    assert client.recipient.name == "acme"
    assert await grants.token(client.digest) is None


async def test_a_rotation_replaces_a_token_by_a_client(
    recipients: Recipients, grants: Grants, clock: Clock
) -> None:
    token = await recipients.create("acme")
    assert (await recipients.rotate("acme", kind="oauth")).client_id
    assert await _why_refused(grants, clock, token) is None
    clock.advance(10 * SECOND)
    assert await _why_refused(grants, clock, token) == "expired"


async def test_a_restored_recipients_old_tokens_stay_revoked(
    recipients: Recipients, grants: Grants, clock: Clock
) -> None:
    token = await recipients.create("acme")
    await recipients.revoke("acme")
    await recipients.restore("acme")
    assert [each.revoked_at for each in await recipients.list()] == [None]
    assert await _why_refused(grants, clock, token) == "revoked"


@pytest.mark.parametrize(
    ("name", "lifetime", "message"),
    [
        ("ACME", None, "there is a recipient 'ACME' already"),
        ("a b", None, "cannot contain a space"),
        ("new", 0, "lifetime is between 1s and 365d"),
        ("new", 365 * 86_400 + 1, "lifetime is between 1s and 365d"),
    ],
)
async def test_bad_recipients_are_refused(
    recipients: Recipients, name: str, lifetime: int | None, message: str
) -> None:
    await recipients.create("acme")
    with pytest.raises(InvalidRequest, match=message):
        await recipients.create(name, token_lifetime=lifetime)
    assert [each.name for each in await recipients.list()] == ["acme"]


async def test_a_rotation_refuses_more_than_a_year_and_keeps_the_old_token(
    recipients: Recipients,
) -> None:
    await recipients.create("acme")
    with pytest.raises(InvalidRequest, match="between 1s and 365d"):
        await recipients.rotate("acme", token_lifetime=366 * 86_400)
    assert [each.tokens for each in await recipients.list()] == [1]


async def test_a_recipient_of_before_with_longer_tokens_gets_those_of_a_year(
    recipients: Recipients, store: Store, clock: Clock
) -> None:
    await recipients.create("acme")
    async with store.write() as connection:
        await connection.execute(update(recipients_table).values(token_lifetime=10**9))
    year = 365 * 86_400
    assert (await recipients.rotate("acme")).expires_at == clock() + year * SECOND


async def test_unknown_recipients_are_refused_with_the_nearest_name(recipients: Recipients) -> None:
    await recipients.create("acme")
    for work in (recipients.rotate, recipients.revoke, recipients.restore):
        with pytest.raises(NotFound, match="there is no recipient 'acne'; did you mean 'acme'"):
            await work("acne")


async def _issue(folder: Path, clock: Clock) -> list[bytes]:
    """The random parts of three secrets, issued by a store in a folder and still open."""
    store = await Store.open(f"sqlite:///{folder}/x.db")
    service = Recipients(store, token_lifetime=100, rotation_grace=10, now=clock)
    issued = [await service.create("acme"), await service.rotate("acme")]
    issued.append(await service.rotate("acme", kind="oauth"))
    await store.aclose()
    return [each.secret.partition("_")[2].encode() for each in issued]


def test_the_database_never_holds_a_token(tmp_path: Path, clock: Clock) -> None:
    # A second connection keeps the write-ahead log from being folded into the file.
    (tmp_path / "x.db").touch()
    with closing(sqlite3.connect(tmp_path / "x.db")) as reader:
        reader.execute("PRAGMA journal_mode = WAL")
        secrets = asyncio.run(_issue(tmp_path, clock))
        content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"acme" in content
    assert not any(secret in content for secret in secrets)
