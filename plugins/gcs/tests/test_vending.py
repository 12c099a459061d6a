from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from sluicegate.api import (
    PermissionDenied,
    Principal,
    Scope,
    StorageError,
    TableUnreadable,
    TemporaryCredentials,
    UnsupportedOperation,
)
from sluicegate_gcs.storage import GCSStorage
from sluicegate_testing.servers.google.fake_gcs import FakeGCS

Connected = Callable[..., GCSStorage]

ACME = Principal("r-1", "acme", "bearer")


def scope(*locations: str, lifetime: int = 3600, binding: str | None = None) -> Scope:
    return Scope(locations, lifetime, ACME, binding)


def asked_of(server: FakeGCS, path: str) -> list[dict[str, Any]]:
    return [body for where, body in server.apis.requests if where.endswith(path)]


async def test_a_token_is_exchanged_for_one_within_the_tables_boundary(
    server: FakeGCS, connected: Connected
) -> None:
    """The fields of "Exchange the token" in the Google Cloud documentation; not enforced here."""
    vended = await connected().vend(scope(f"gs://{server.bucket}/sales/orders"))

    (asked,) = asked_of(server, "/v1/token")
    assert asked.pop("subject_token") in server.apis.tokens
    assert asked == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
        "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
        "options": {
            "accessBoundary": {
                "accessBoundaryRules": [
                    {
                        "availableResource": "//storage.googleapis.com/projects/_/buckets/lake",
                        "availablePermissions": ["inRole:roles/storage.objectViewer"],
                        "availabilityCondition": {
                            "expression": "resource.name.startsWith("
                            "'projects/_/buckets/lake/objects/sales/orders/') || "
                            "api.getAttribute('storage.googleapis.com/objectListPrefix', '')"
                            ".startsWith('sales/orders/')"
                        },
                    }
                ]
            }
        },
    }
    assert (vended.kind, vended.location) == ("gcp", f"gs://{server.bucket}/sales/orders")
    assert vended.secret["oauth_token"] in server.apis.tokens
    assert vended.connection == {"endpoint": server.endpoint}
    assert vended.secret["oauth_token"] not in repr(vended)


async def test_each_directory_has_a_rule(server: FakeGCS, connected: Connected) -> None:
    await connected().vend(scope("gs://lake/a", "gcs://lake/b/", "gs://lake/a/nested"))

    (asked,) = asked_of(server, "/v1/token")
    rules = asked["options"]["accessBoundary"]["accessBoundaryRules"]
    conditions = [rule["availabilityCondition"]["expression"] for rule in rules]
    assert ["objects/a/'" in conditions[0], "objects/b/'" in conditions[1]] == [True, True]
    assert len(rules) == 2


def lives(vended: TemporaryCredentials, server: FakeGCS) -> tuple[float, float]:
    """Return the remaining seconds, according to the credentials and to the server that issued them."""
    assert vended.expires_at is not None
    known = server.apis.tokens[vended.secret["oauth_token"]]
    return vended.expires_at / 1000 - time.time(), known - time.time()


@pytest.mark.parametrize(
    ("token_seconds", "wanted", "most", "impersonates"),
    [
        (3600, 3600, 3600, False),
        (3600, 43_200, 3600, False),
        (1800, 3600, 1800, False),
        (3600, 900, 900, True),
    ],
)
async def test_what_is_vended_ends_when_it_says_and_no_later_than_wanted(
    server: FakeGCS,
    connected: Connected,
    token_seconds: int,
    wanted: int,
    most: int,
    impersonates: bool,
) -> None:
    server.apis.token_seconds = token_seconds

    vended = await connected().vend(scope("gs://lake/a", lifetime=wanted))

    said, known = lives(vended, server)
    assert most - 30 < said <= min(most, known + 1)
    shorter = asked_of(server, ":generateAccessToken")
    assert shorter == (
        [{"scope": ["https://www.googleapis.com/auth/cloud-platform"], "lifetime": f"{wanted}s"}]
        if impersonates
        else []
    )


async def test_the_gateways_own_token_is_requested_once(server: FakeGCS, connected: Connected) -> None:
    storage = connected()
    for name in "abc":
        await storage.vend(scope(f"gs://lake/{name}"))

    assert len(asked_of(server, "/v1/token")) == 3
    assert [path for path, _ in server.apis.requests].count("/token") == 1


async def test_a_vended_token_reads_the_table(server: FakeGCS, connected: Connected) -> None:
    server.put("sales/orders/a", b"a")
    vended = await connected().vend(scope(f"gs://{server.bucket}/sales/orders"))

    headers = {"Authorization": f"Bearer {vended.secret['oauth_token']}"}
    async with httpx.AsyncClient(headers=headers) as client:
        answer = await client.get(f"{server.endpoint}/{server.bucket}/sales/orders/a")

    assert answer.content == b"a"


@pytest.mark.parametrize(
    ("wanted", "refusal"),
    [
        (scope("gs://other/a"), PermissionDenied),
        (scope("gs://lake/a", "gs://lakeside/b"), PermissionDenied),
        (scope("gs://lake/a", binding="session"), UnsupportedOperation),
        (scope("gs://lake/a\nb"), TableUnreadable),
        (scope(*(f"gs://lake/{number}" for number in range(11))), UnsupportedOperation),
    ],
)
async def test_what_cannot_be_limited_is_refused_before_a_request_to_google(
    server: FakeGCS, connected: Connected, wanted: Scope, refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        await connected().vend(wanted)

    assert server.apis.requests == []


@pytest.mark.parametrize(
    ("location", "vending", "vends"),
    [
        ("gs://lake/a", True, True),
        ("gcs://lake/a/", True, True),
        ("gs://lake/a", False, False),
        ("gs://other/a", True, False),
        ("gs://lake/a//b", True, False),
    ],
)
def test_credentials_are_offered_only_where_they_can_be_given(
    connected: Connected, location: str, vending: bool, vends: bool
) -> None:
    assert connected(vending=vending).vends(location) is vends


async def test_nothing_is_vended_unless_the_configuration_says_so(connected: Connected) -> None:
    with pytest.raises(UnsupportedOperation):
        await connected(vending=False).vend(scope("gs://lake/a"))


@pytest.mark.parametrize("path", ["/token", "/v1/token", ":generateAccessToken"])
async def test_a_refusal_of_google_is_an_error_without_a_secret(
    server: FakeGCS, connected: Connected, path: str
) -> None:
    server.apis.refuses.add(path)

    with pytest.raises(StorageError) as refused:
        await connected().vend(scope("gs://lake/a", lifetime=900))

    told = f"{refused.value} {refused.value.detail}"
    assert "ask the gateway's operator" in refused.value.message
    assert "Permission denied" in str(refused.value.detail)
    assert [token for token in server.apis.tokens if token in told] == []


async def test_ending_sessions_reports_what_an_administrator_can_do(connected: Connected) -> None:
    ended = await connected().end_sessions(ACME, 0)

    assert not ended.applied
    assert "disable the service account" in ended.instructions
