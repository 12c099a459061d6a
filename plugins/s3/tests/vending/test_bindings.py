"""The rules of the S3A token architecture, "Token issuing", with real token services.

`GetSessionToken` and tags need moto, because SeaweedFS doesn't support them. test_vending.py tests the
limits of sessions.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from sluicegate.api import (
    PermissionDenied,
    Principal,
    Scope,
    StorageError,
    TemporaryCredentials,
    UnsupportedOperation,
)
from sluicegate_s3.access import Access
from sluicegate_s3.config import S3Config, VendingConfig
from sluicegate_s3.credentials import Credentials
from sluicegate_s3.storage import S3Storage
from sluicegate_s3.vending.bindings import Binding, FullBinding, Issuing, RoleBinding, SessionBinding
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.servers.scripted_aws import ScriptedAWS

ROLE = "arn:aws:iam::123456789012:role/lake/reader"
KEY = "arn:aws:kms:eu-west-1:123456789012:key/1"
LONG_LIVED = Credentials("AKIAEXAMPLE", "hush")
SESSION = Credentials("ASIAEXAMPLE", "hush", "token")
ALL = {"role_arn": ROLE, "allowed_bindings": ["session", "full"]}
ACME = Principal("r-1", "acme", "test", properties={"country": "DE"})


def config_of(endpoint: str = "http://127.0.0.1:9", **settings: Any) -> S3Config:
    return S3Config.model_validate(
        {
            "prefix": "s3://lake/",
            "region": "eu-west-1",
            "sts_endpoint": endpoint,
            "access_key_id": LONG_LIVED.access_key_id,
            "secret_access_key": LONG_LIVED.secret_access_key,
            "vending": ALL,
            **settings,
        }
    )


async def vend(
    config: S3Config, binding: str | None = None, lifetime: int = 3600
) -> TemporaryCredentials:
    storage = S3Storage.configured(config, FakeContext())
    return await storage.vend(Scope(("s3://lake/tables/sales",), lifetime, ACME, binding))


@pytest.mark.parametrize(
    ("binding", "base", "chaining", "issuing"),
    [
        (RoleBinding, LONG_LIVED, False, Issuing.NEW),
        (RoleBinding, SESSION, False, Issuing.NONE),
        (RoleBinding, SESSION, True, Issuing.NEW),
        (SessionBinding, LONG_LIVED, False, Issuing.NEW),
        (SessionBinding, SESSION, False, Issuing.EXISTING),
        (FullBinding, LONG_LIVED, False, Issuing.EXISTING),
        (FullBinding, SESSION, False, Issuing.NONE),
    ],
)
def test_what_a_binding_issues_follows_from_what_the_gateway_has(
    binding: type[Binding], base: Credentials, chaining: bool, issuing: Issuing
) -> None:
    vending = VendingConfig.model_validate({**ALL, "role_chaining": chaining})
    config = config_of(vending=vending)

    assert binding(config, vending, Access.configured(config)).issuing(base) is issuing


@pytest.mark.parametrize("binding", [None, "role", "session"])
async def test_a_long_lived_key_gives_sessions_that_end(moto: str, binding: str | None) -> None:
    before = time.time()

    vended = await vend(config_of(moto), binding, 900)

    assert vended.secret["session_token"]
    assert vended.expires_at is not None
    assert before + 890 < vended.expires_at / 1000 <= time.time() + 900


async def test_a_requested_key_is_passed_on(moto: str) -> None:
    vended = await vend(config_of(moto), "full")

    assert vended.secret == {"access_key_id": "AKIAEXAMPLE", "secret_access_key": "hush"}
    assert vended.expires_at is None


async def test_a_session_is_passed_on() -> None:
    vended = await vend(config_of(session_token="token"), "session")

    assert vended.secret["session_token"] == "token"


@pytest.mark.parametrize(("binding", "hint"), [("role", "role_chaining"), ("full", "no key")])
async def test_a_session_gives_neither_roles_nor_keys_and_the_log_says_why(
    binding: str, hint: str
) -> None:
    with pytest.raises(StorageError) as refused:
        await vend(config_of(session_token="token"), binding)

    assert hint in str(refused.value.detail)
    assert hint not in refused.value.message


@pytest.mark.parametrize("binding", ["session", "full", "fourth"])
async def test_a_binding_that_is_not_allowed_is_refused(binding: str) -> None:
    with pytest.raises(PermissionDenied, match=binding):
        await vend(config_of(vending={"role_arn": ROLE}), binding)


@pytest.mark.parametrize("binding", ["role", "session"])
async def test_a_life_that_no_session_can_be_short_enough_for_is_refused(binding: str) -> None:
    with pytest.raises(UnsupportedOperation, match="900"):
        await vend(config_of(), binding, 899)


async def test_a_storage_without_vending_gives_urls_only() -> None:
    config = S3Config(prefix="s3://lake/", region="eu-west-1")

    assert not S3Storage.configured(config, FakeContext()).vends("s3://lake/tables/sales")
    with pytest.raises(UnsupportedOperation):
        await vend(config)


@pytest.mark.parametrize(
    ("settings", "vending", "sent"),
    [
        ({}, {}, {"RoleArn": ROLE, "RoleSessionName": "acme", "DurationSeconds": "3600"}),
        ({}, {"duration": 1200}, {"DurationSeconds": "1200"}),
        ({}, {"duration": 43_200}, {"DurationSeconds": "7200"}),
        (
            {"session_token": "token"},
            {"duration": 43_200, "role_chaining": True},
            {"DurationSeconds": "3600"},
        ),
        ({}, {"source_identity": True}, {"SourceIdentity": "acme"}),
        ({}, {"external_id": "42"}, {"ExternalId": "42"}),
        ({"role_arn": ROLE, "external_id": "43"}, {"role_arn": None}, {"ExternalId": "43"}),
        (
            {},
            {"session_tags": {"country": "properties.country"}},
            {"Tags.member.1.Key": "country", "Tags.member.1.Value": "DE"},
        ),
        (
            {},
            {"session_tags": {"who": "name"}, "transitive_tags": True},
            {"TransitiveTagKeys.member.1": "who"},
        ),
    ],
)
async def test_the_role_is_assumed_as_configured(
    service: ScriptedAWS, settings: dict[str, Any], vending: dict[str, Any], sent: dict[str, str]
) -> None:
    config = config_of(service.endpoint, **{"vending": {"role_arn": ROLE, **vending}, **settings})

    with pytest.raises(StorageError):
        await vend(config, lifetime=7200)

    request = service.requests[0]
    assert {name: request.get(name) for name in sent} == sent
    assert "tables/sales/*" in request["Policy"]


async def test_nothing_is_sent_that_is_not_configured(service: ScriptedAWS) -> None:
    with pytest.raises(StorageError):
        await vend(config_of(service.endpoint))

    assert set(service.requests[0]) == {
        "Action",
        "Version",
        "RoleArn",
        "RoleSessionName",
        "DurationSeconds",
        "Policy",
    }


async def test_an_external_id_is_sent_to_its_own_role_only(service: ScriptedAWS) -> None:
    config = config_of(
        service.endpoint,
        role_arn="arn:aws:iam::123456789012:role/gateway",
        external_id="43",
        vending={"role_arn": ROLE},
    )

    with pytest.raises(StorageError):
        await vend(config)

    assert "ExternalId" not in service.requests[0]


@pytest.mark.parametrize(
    ("status", "code", "error", "words", "attempts"),
    [
        (400, "PackedPolicyTooLarge", UnsupportedOperation, "session policy", 1),
        (403, "AccessDenied", StorageError, "rejects", 1),
        (400, "Throttling", StorageError, "busy", 3),
        (400, "ThrottlingException", StorageError, "busy", 3),
    ],
)
async def test_a_refusal_of_the_token_service_says_what_to_do(
    service: ScriptedAWS,
    status: int,
    code: str,
    error: type[Exception],
    words: str,
    attempts: int,
) -> None:
    service.refuse(status, code)

    with pytest.raises(error, match=words) as refused:
        await vend(config_of(service.endpoint))

    assert service.private not in str(refused.value)
    assert len(service.requests) == attempts


@pytest.mark.parametrize("is_bare", [False, True])
async def test_a_refused_key_is_named_for_the_operator(service: ScriptedAWS, is_bare: bool) -> None:
    """SeaweedFS's errors have no `ErrorResponse`."""
    service.is_bare = is_bare
    service.refuse(403, "InvalidAccessKeyId")
    with pytest.raises(StorageError, match="the token service rejects") as refused:
        await vend(config_of(service.endpoint))
    assert "InvalidAccessKeyId" in (refused.value.detail or "")
    assert service.private in (refused.value.detail or "")
    assert "the access key 'AKIA" in (refused.value.detail or "")
    assert "AKIA" not in refused.value.message


async def test_credentials_say_how_the_objects_are_encrypted(moto: str) -> None:
    vended = await vend(config_of(moto, kms_key_arn=KEY))

    assert vended.connection == {
        "region": "eu-west-1",
        "path_style": "false",
        "role_arn": ROLE,
        "encryption_algorithm": "SSE-KMS",
        "encryption_key": KEY,
    }


class Fourth(RoleBinding):
    name = "fourth"


class FourthConfig(VendingConfig):
    known_bindings = (*VendingConfig.known_bindings, "fourth")


class FourthStorage(S3Storage):
    bindings = (*S3Storage.bindings, Fourth)


async def test_a_plugin_can_add_a_binding(moto: str) -> None:
    config = config_of(moto, vending=FourthConfig(role_arn=ROLE, binding="fourth"))
    storage = FourthStorage.configured(config, FakeContext())

    vended = await storage.vend(Scope(("s3://lake/tables/sales",), 3600, ACME))

    assert vended.secret["session_token"]
