"""The kit's storage suite finds vendors whose credentials open more than a table: on a real store."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace

import anyio.to_thread
import boto3
import pytest

from sluicegate.api import CredentialVendor, Scope, TemporaryCredentials
from sluicegate_s3.config import S3Config
from sluicegate_s3.storage import S3Storage
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.servers.seaweedfs import Identity, SeaweedFS
from sluicegate_testing.storage import Put, StorageBehaviour

Vend = Callable[[SeaweedFS, Scope], TemporaryCredentials]
Check = Callable[[StorageBehaviour, S3Storage, CredentialVendor, Put], Awaitable[None]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as running:
        yield running


@pytest.fixture
async def storage(server: SeaweedFS) -> AsyncIterator[S3Storage]:
    config = S3Config.model_validate(
        {
            "prefix": f"s3://{server.bucket}/lake/",
            "endpoint": server.endpoint,
            "access_key_id": server.admin.access_key_id,
            "secret_access_key": server.admin.secret_access_key,
        }
    )
    opened = S3Storage.configured(config, FakeContext())
    yield opened
    await opened.aclose()


@pytest.fixture
def put(server: SeaweedFS) -> Put:
    async def put(location: str, content: bytes) -> None:
        key = location.removeprefix(f"s3://{server.bucket}/")
        await anyio.to_thread.run_sync(server.put, key, content)

    return put


class LaxVendor(CredentialVendor):
    """Vends by a function, which is laxer than it should be."""

    def __init__(self, server: SeaweedFS, vend: Vend) -> None:
        self._server = server
        self._vend = vend

    def vends(self, location: str) -> bool:
        return True

    async def vend(self, scope: Scope) -> TemporaryCredentials:
        return await anyio.to_thread.run_sync(self._vend, self._server, scope)


def administrators_keys(server: SeaweedFS, scope: Scope) -> TemporaryCredentials:
    return keys(server.admin, scope)


def read_only_keys(server: SeaweedFS, scope: Scope) -> TemporaryCredentials:
    return keys(server.signer, scope)


def keys(who: Identity, scope: Scope) -> TemporaryCredentials:
    """Keys without an end, which say that they have one."""
    return TemporaryCredentials(
        location=scope.locations[0],
        kind="aws",
        secret={"access_key_id": who.access_key_id, "secret_access_key": who.secret_access_key},
        expires_at=int((time.time() + scope.lifetime) * 1000),
    )


def endless_keys(server: SeaweedFS, scope: Scope) -> TemporaryCredentials:
    return replace(keys(server.signer, scope), expires_at=None)


def what_begins_alike(server: SeaweedFS, scope: Scope) -> TemporaryCredentials:
    """A session whose policy lacks the slash behind the directory."""
    key = scope.locations[0].removeprefix(f"s3://{server.bucket}/")
    arn = f"arn:aws:s3:::{server.bucket}"
    policy = [
        {"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": [f"{arn}/{key}*"]},
        {"Effect": "Allow", "Action": ["s3:ListBucket"], "Resource": [arn]},
    ]
    service = boto3.client(
        "sts",
        endpoint_url=server.endpoint,
        region_name=server.region,
        aws_access_key_id=server.signer.access_key_id,
        aws_secret_access_key=server.signer.secret_access_key,
    )
    session = service.assume_role(
        RoleArn=server.role_arn,
        RoleSessionName="lax",
        Policy=json.dumps({"Version": "2012-10-17", "Statement": policy}),
    )["Credentials"]
    service.close()
    return TemporaryCredentials(
        location=scope.locations[0],
        kind="aws",
        secret={
            "access_key_id": session["AccessKeyId"],
            "secret_access_key": session["SecretAccessKey"],
            "session_token": session["SessionToken"],
        },
        expires_at=int(session["Expiration"].timestamp() * 1000),
    )


def sibling(name: str) -> Check:
    async def check(
        suite: StorageBehaviour, storage: S3Storage, vendor: CredentialVendor, put: Put
    ) -> None:
        await suite.test_credentials_open_no_sibling(storage, vendor, put, name)

    return check


async def write(
    suite: StorageBehaviour, storage: S3Storage, vendor: CredentialVendor, put: Put
) -> None:
    await suite.test_credentials_do_not_write(storage, vendor, put)


async def end(suite: StorageBehaviour, storage: S3Storage, vendor: CredentialVendor, put: Put) -> None:
    await suite.test_the_store_refuses_credentials_that_have_ended(storage, vendor, put)


@pytest.mark.parametrize(
    ("vend", "check", "found"),
    [
        (administrators_keys, sibling("neighbour"), "reads .*lake/neighbour"),
        (administrators_keys, sibling("vended2"), "reads .*lake/vended2"),
        (administrators_keys, write, "writes a new file"),
        (administrators_keys, end, "after their expiry"),
        (read_only_keys, sibling("neighbour"), "reads .*lake/neighbour"),
        (endless_keys, end, "do not expire"),
        (what_begins_alike, sibling("vended2"), "reads .*lake/vended2"),
        (what_begins_alike, sibling("neighbour"), "lists .*lake/neighbour"),
        (what_begins_alike, end, "are valid for too long"),
    ],
)
async def test_a_lax_vendor_fails_the_suite(
    server: SeaweedFS, storage: S3Storage, put: Put, vend: Vend, check: Check, found: str
) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception), match=found):
        await check(StorageBehaviour(), storage, LaxVendor(server, vend), put)


async def test_the_suite_finds_nothing_where_there_is_nothing(
    server: SeaweedFS, storage: S3Storage, put: Put
) -> None:
    await write(StorageBehaviour(), storage, LaxVendor(server, read_only_keys), put)
