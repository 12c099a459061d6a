from __future__ import annotations

import json
import logging
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from sluicegate.api import Principal, Scope, SecretStr, StorageError
from sluicegate_gcs.google import GoogleClient, Identity
from sluicegate_gcs.storage import GCSStorage
from sluicegate_gcs.tokens import AccessToken
from sluicegate_testing.servers.google.fake_gcs import FakeGCS

Connected = Callable[..., GCSStorage]
Defaults = Callable[..., None]

HOUR = 3600


async def test_a_key_in_the_environment_signs_by_itself(
    server: FakeGCS, connected: Connected, default_credentials: Defaults
) -> None:
    default_credentials(json.loads(server.service_account_key))

    signed = await connected(service_account_key=None).presign(["gs://lake/a"], 60)

    assert server.email.replace("@", "%40") in signed.urls[0]
    assert server.apis.requests == []


async def test_a_federated_workload_lets_google_sign_each_url(
    server: FakeGCS, connected: Connected, default_credentials: Defaults
) -> None:
    default_credentials()
    storage = connected(service_account_key=None, service_account_email=server.email)

    signed = await storage.presign([f"gs://lake/{name}" for name in "abc"], 60)

    calls = [path for path, _ in server.apis.requests if path.endswith(":signBlob")]
    assert (len(signed.urls), len(calls)) == (3, 3)


ON_A_MACHINE_OF_GOOGLE = """
import anyio, sys
from sluicegate_gcs.config import GCSConfig
from sluicegate_gcs.storage import GCSStorage

async def main(endpoint, location):
    config = GCSConfig(prefix="gs://lake/", endpoint=endpoint, iam_endpoint=endpoint)
    print(*(await GCSStorage(config).presign([location], 60)).urls)

anyio.run(main, *sys.argv[1:])
"""


async def test_a_machine_of_googles_signs_as_its_own_service_account(
    server: FakeGCS, tmp_path: Path
) -> None:
    """google-auth reads the address of the metadata server at import, so a new process is needed."""
    server.put("machine/a", b"a")
    address = server.endpoint.removeprefix("http://")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GOOGLE_")},
        "CLOUDSDK_CONFIG": str(tmp_path),
        "GCE_METADATA_HOST": address,
        "GCE_METADATA_IP": address,
    }

    done = await anyio.run_process(
        [sys.executable, "-c", ON_A_MACHINE_OF_GOOGLE, server.endpoint, "gs://lake/machine/a"],
        env=environment,
        stderr=None,
    )

    async with httpx.AsyncClient() as client:
        assert (await client.get(done.stdout.decode().strip())).content == b"a"
    assert [path for path, _ in server.apis.requests if path.endswith(":signBlob")]


async def test_a_workload_without_an_account_gets_instructions_to_name_one(
    connected: Connected, default_credentials: Defaults
) -> None:
    default_credentials()

    with pytest.raises(StorageError) as refused:
        await connected(service_account_key=None).presign(["gs://lake/a"], 60)

    assert "set service_account_email" in str(refused.value.detail)


async def test_a_refused_signature_fails_the_whole_batch(
    server: FakeGCS, connected: Connected, default_credentials: Defaults
) -> None:
    default_credentials()
    server.apis.refuses.add(":signBlob")
    storage = connected(service_account_key=None, service_account_email=server.email)

    with pytest.raises(StorageError, match="rejects the gateway's identity") as refused:
        await storage.presign([f"gs://lake/{number}" for number in range(200)], 60)

    assert "403" in str(refused.value.detail)
    assert len(server.apis.requests) < 100


async def test_without_credentials_nothing_is_signed_or_opened(
    connected: Connected, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "missing.json"))
    storage = connected(service_account_key=None)

    with pytest.raises(StorageError, match="no Google credentials") as refused:
        await storage.open("gs://lake/a")
    assert "set service_account_key" in str(refused.value.detail)
    with pytest.raises(StorageError):
        await storage.presign(["gs://lake/a"], 60)


async def test_a_broken_key_is_an_error_that_does_not_quote_it(
    server: FakeGCS, connected: Connected
) -> None:
    key = json.loads(server.service_account_key)
    broken = json.dumps({**key, "private_key": "hush-hush"})

    with pytest.raises(StorageError, match="are not readable") as refused:
        await connected(service_account_key=broken).presign(["gs://lake/a"], 60)

    assert "hush" not in f"{refused.value} {refused.value.detail}"


async def test_a_token_service_that_is_dead_is_an_error_soon(server: FakeGCS) -> None:
    with socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{dead.getsockname()[1]}/token"
        key = json.dumps({**json.loads(server.service_account_key), "token_uri": address})

        with anyio.fail_after(20), pytest.raises(StorageError, match="try again later"):
            await Identity(GoogleClient(), SecretStr(key)).token()


async def test_no_log_holds_a_token_or_a_key(
    server: FakeGCS,
    connected: Connected,
    default_credentials: Defaults,
    caplog: pytest.LogCaptureFixture,
) -> None:
    default_credentials()
    own, federated = (
        connected(),
        connected(service_account_key=None, service_account_email=server.email),
    )

    with caplog.at_level(logging.DEBUG):
        for storage in (own, federated):
            signed = await storage.presign(["gs://lake/a"], 60)
            await storage.vend(Scope(("gs://lake/a",), 900, Principal("r-1", "acme", "bearer")))
            assert signed.urls[0] not in caplog.text

    key = json.loads(server.service_account_key)["private_key"].splitlines()[1]
    assert [secret for secret in (*server.apis.tokens, key) if secret in caplog.text] == []
    assert "signBlob" in caplog.text


def test_nothing_secret_is_shown() -> None:
    shown: list[Any] = [AccessToken("ya29.hush", 1), Identity(GoogleClient(), SecretStr("hush"))]

    assert "hush" not in repr(shown)
