from __future__ import annotations

import base64
import json
import logging
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import obstore
import pytest
from jwcrypto.jwk import JWK
from jwcrypto.jws import JWS
from obstore.exceptions import BaseError

from sluicegate.api import (
    ObjectDirectory,
    PermissionDenied,
    Principal,
    Scope,
    StorageError,
    UnsupportedOperation,
)
from sluicegate_r2.storage import R2Storage
from sluicegate_testing.servers.seaweedfs import SeaweedFS

Connected = Callable[..., R2Storage]

ACCOUNT = "0123456789abcdef0123456789abcdef"
HOST = f"{ACCOUNT}.r2.cloudflarestorage.com"
LAKE = f"r2://lake@{HOST}"
ACME = Principal("r-1", "acme", "bearer")
SECRET = "0f" * 32
API_TOKEN = "cloudflare-token"


def scope(*locations: str, lifetime: int = 3600, binding: str | None = None) -> Scope:
    return Scope(locations, lifetime, ACME, binding)


def local(connected: Connected, **settings: Any) -> R2Storage:
    own = {"access_key_id": "parent", "secret_access_key": SECRET, "endpoint": None}
    return connected(**own, vending="local", api_token=None, **settings)


def token_in(secret: dict[str, str]) -> str:
    kind, _, token = base64.b64decode(secret["session_token"]).decode().partition("/")
    assert kind == "jwt"
    return token


@pytest.mark.parametrize(
    ("locations", "paths"),
    [
        ([f"{LAKE}/sales/orders"], ["sales/orders/"]),
        ([f"{LAKE}/a b/", f"{LAKE}/ü'\"\\"], ["a b/", "ü'\"\\/"]),
        ([f"{LAKE}/"], None),
        ([f"{LAKE}/a", LAKE], None),
    ],
)
async def test_local_credentials_are_what_r2_documents(
    connected: Connected, locations: list[str], paths: list[str] | None
) -> None:
    before = int(time.time())
    vended = await local(connected).vend(scope(*locations, lifetime=900))

    token = token_in(dict(vended.secret))
    theirs = JWS()
    key = JWK(kty="oct", k=base64.urlsafe_b64encode(SECRET.encode()).rstrip(b"=").decode())
    theirs.deserialize(token, key, alg="HS256")
    claims = json.loads(theirs.payload)
    began = claims.pop("iat")
    assert before <= began <= time.time()
    assert theirs.jose_header == {"alg": "HS256", "typ": "JWT"}
    assert claims == {
        "bucket": "lake",
        "scope": "object-read-only",
        **({"paths": {"prefixPaths": paths, "objectPaths": []}} if paths else {}),
        "sub": ACCOUNT,
        "iss": "parent",
        "aud": HOST,
        "exp": began + 900,
    }
    assert vended.secret["access_key_id"] == "parent"
    assert vended.secret["secret_access_key"] == sha256(token.encode()).hexdigest()
    assert vended.expires_at == (began + 900) * 1000


async def test_the_local_token_equals_an_independent_librarys(connected: Connected) -> None:
    vended = await local(connected).vend(scope(f"{LAKE}/sales/orders"))
    token = token_in(dict(vended.secret))
    header, payload = (
        base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split(".")[:2]
    )

    theirs = JWS(payload)
    key = JWK(kty="oct", k=base64.urlsafe_b64encode(SECRET.encode()).rstrip(b"=").decode())
    theirs.add_signature(key, "HS256", protected=header.decode())

    assert theirs.serialize(compact=True) == token


async def test_cloudflare_gets_requests_that_it_documents(connected: Connected, api: Any) -> None:
    """Compares each field. Whether Cloudflare accepts the credentials is not tested."""
    storage = connected()
    vended = await storage.vend(scope(f"{LAKE}/sales/orders", f"{LAKE}/more", lifetime=1800))
    await storage.vend(scope(LAKE))

    path = f"/client/v4/accounts/{ACCOUNT}/r2/temp-access-credentials"
    common = {
        "bucket": "lake",
        "parentAccessKeyId": api.store.signer.access_key_id,
        "permission": "object-read-only",
    }
    assert api.asked == [
        (path, {**common, "ttlSeconds": 1800, "prefixes": ["sales/orders/", "more/"]}),
        (path, {**common, "ttlSeconds": 3600}),
    ]
    assert vended.kind == "r2"
    assert vended.location == f"{LAKE}/sales/orders"
    assert vended.connection == {
        "region": "auto",
        "endpoint": api.store.endpoint,
        "path_style": "true",
    }
    assert set(vended.secret) == {"access_key_id", "secret_access_key", "session_token"}


async def names_in(directory: ObjectDirectory) -> list[str]:
    listing = obstore.list(directory.store, prefix=directory.prefix)
    return [item["path"] async for batch in listing for item in batch]


async def test_credentials_pass_through_to_the_s3_api(server: SeaweedFS, connected: Connected) -> None:
    server.put("vended/orders/a", b"a")
    server.put("vended/orders-other/a", b"a")
    storage = connected()
    vended = await storage.vend(scope(f"{LAKE}/vended/orders"))

    own = await storage.open(f"{LAKE}/vended/orders", vended)
    sibling = await storage.open(f"{LAKE}/vended/orders-other", vended)

    assert await names_in(own) == ["vended/orders/a"]
    with pytest.raises(BaseError, match="403"):
        await names_in(sibling)


@pytest.mark.parametrize(("wanted", "lives"), [(60, 60), (604_800, 604_800), (700_000, 604_800)])
async def test_credentials_live_for_seven_days_at_most(
    connected: Connected, wanted: int, lives: int
) -> None:
    vended = await local(connected).vend(scope(f"{LAKE}/a", lifetime=wanted))

    assert vended.expires_at is not None
    assert lives - 30 < vended.expires_at / 1000 - time.time() <= lives


@pytest.mark.parametrize(
    ("settings", "location", "vends"),
    [
        ({}, f"{LAKE}/a", True),
        ({}, LAKE.upper().replace("LAKE@", "lake@"), True),
        ({}, f"r2://other@{HOST}/a", False),
        ({"vending": None, "api_token": None}, f"{LAKE}/a", False),
    ],
)
def test_credentials_are_offered_only_where_they_can_be_given(
    connected: Connected, settings: dict[str, Any], location: str, vends: bool
) -> None:
    assert connected(**settings).vends(location) is vends


@pytest.mark.parametrize(
    ("settings", "wanted", "refusal"),
    [
        ({}, scope("r2://other/a"), PermissionDenied),
        ({}, scope(f"{LAKE}/a", f"r2://other@{HOST}/a"), PermissionDenied),
        ({}, scope(f"{LAKE}/a", binding="role"), UnsupportedOperation),
        ({"vending": None, "api_token": None}, scope(f"{LAKE}/a"), UnsupportedOperation),
    ],
)
async def test_what_cannot_be_vended_is_refused_before_a_request_to_cloudflare(
    connected: Connected, api: Any, settings: dict[str, Any], wanted: Scope, refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        await connected(**settings).vend(wanted)

    assert api.asked == []


@pytest.mark.parametrize(
    ("answer", "message", "detail"),
    [
        (
            (403, {"errors": [{"code": 10000, "message": f"no: {API_TOKEN}"}], "result": None}),
            "Cloudflare rejects",
            "10000",
        ),
        ((200, {"success": False, "errors": [], "result": {}}), "Cloudflare rejects", "200"),
        ((200, ["unexpected"]), "Cloudflare rejects", "200"),
        ((502, b"<html>bad gateway</html>"), "does not respond", "status 502"),
        ((500, {"success": False, "errors": []}), "does not respond", "status 500"),
        ((200, b"<html>welcome</html>"), "does not respond", "JSONDecodeError"),
        ((200, b"[" * 60_000), "does not respond", "RecursionError"),
        ((200, b" " * 70_000), "does not respond", "more than 65536 bytes"),
        ((301, {}), "Cloudflare rejects", "301"),
    ],
)
async def test_a_failure_of_the_api_is_an_error_without_a_secret(
    connected: Connected,
    api: Any,
    caplog: pytest.LogCaptureFixture,
    answer: tuple[int, Any],
    message: str,
    detail: str,
) -> None:
    api.answer = answer
    storage = connected()

    with caplog.at_level(logging.DEBUG), pytest.raises(StorageError, match=message) as refused:
        await storage.vend(scope(f"{LAKE}/a"))

    assert detail in str(refused.value.detail)
    assert API_TOKEN not in f"{refused.value} {refused.value.detail} {caplog.text}"


async def test_a_busy_api_gets_the_request_again(connected: Connected, api: Any) -> None:
    api.busy = 1
    vended = await connected().vend(scope(f"{LAKE}/a"))

    assert set(vended.secret) == {"access_key_id", "secret_access_key", "session_token"}
    assert len(api.asked) == 2


async def test_a_dead_api_is_an_error_soon(connected: Connected) -> None:
    storage = connected(api_endpoint="http://127.0.0.1:9/client/v4")

    with pytest.raises(StorageError, match="does not respond"):
        await storage.vend(scope(f"{LAKE}/a"))


async def test_ending_sessions_reports_what_an_administrator_can_do(connected: Connected) -> None:
    ended = await connected().end_sessions(ACME, 0)

    assert not ended.applied
    assert "roll the R2 API token" in ended.instructions
