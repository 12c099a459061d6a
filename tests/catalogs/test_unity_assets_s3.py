"""Volumes and models of a Unity Catalog through the gateway, with sessions that a store enforces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from catalogs.test_unity_s3 import NOBODY, session
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration
from support.gateways.s3_lake import storage_of

from sluicegate.testing.secrets import keep_credentials, keep_secret
from sluicegate.testing.servers.seaweedfs import SeaweedFS
from sluicegate.testing.servers.unity_catalog.unity import (
    UnityServer,
    model_info,
    version_info,
    volume_info,
)

TOKEN = "unity-service-token"
SCHEMA = "shares/lake/schemas/eu"
MODEL = "main.eu.churn"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as server:
        for folder in ("manuals", "churn/1", "churn/2"):
            server.put(f"{folder}/a.bin", folder.encode())
        yield server


@pytest.fixture(scope="module")
def unity(store: SeaweedFS) -> Iterator[UnityServer]:
    root = f"s3://{store.bucket}"
    keep_secret(TOKEN)
    with UnityServer.start() as server:
        server.state.tokens = {TOKEN}
        volume = volume_info("main.eu.manuals", f"{root}/manuals")
        versions = [
            version_info(MODEL, f"{root}/churn/1", 1),
            version_info(MODEL, f"{root}/churn/2", 2, status="PENDING_REGISTRATION"),
        ]
        server.state.assets.volumes["main.eu.manuals"] = volume
        server.state.assets.models[MODEL] = model_info(MODEL, f"{root}/churn", comment="Who leaves")
        server.state.assets.versions[MODEL] = versions
        server.state.credentials[volume["volume_id"]] = session(store, "manuals")
        server.state.credentials[versions[0]["id"]] = session(store, "churn/1")
        yield server


@pytest.fixture(scope="module")
def gateway(
    store: SeaweedFS, unity: UnityServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningGateway]:
    folder: Path = tmp_path_factory.mktemp("gateway")
    section = {"type": "unity", "uri": unity.uri, "catalog": "main", "token": TOKEN}
    schema = {
        "from": {"catalog": "unity", "schema": "eu"},
        "volumes": {"manuals": {"catalog": "unity", "volume": "eu.manuals"}},
        "models": {"churn": {"catalog": "unity", "model": "eu.churn", "aliases": {"best": 1}}},
    }
    write_configuration(
        folder,
        {"catalogs": {"unity": section}, "storage": [storage_of(store, NOBODY)]},
        {
            "shares": {"lake": {"schemas": {"eu": schema}}},
            "recipients": {"acme": {"shares": ["lake"]}},
        },
    )
    with running_gateway(folder) as running:
        yield running


@pytest.fixture(scope="module")
def client(gateway: RunningGateway) -> Iterator[httpx.Client]:
    token = json.loads(gateway.profile("acme").read_text())["bearerToken"]
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=f"{gateway.endpoint}/", headers=headers, timeout=30) as made:
        yield made


def opened(store: SeaweedFS, answer: httpx.Response) -> Any:
    """The store by the credentials in a response."""
    assert answer.status_code == 200, answer.text
    keep_credentials(answer.json()["credentials"])
    secret = answer.json()["credentials"]["awsTempCredentials"]
    return boto3.client(
        "s3",
        endpoint_url=store.endpoint,
        region_name=store.region,
        aws_access_key_id=secret["accessKeyId"],
        aws_secret_access_key=secret["secretAccessKey"],
        aws_session_token=secret["sessionToken"],
        config=Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}),
    )


@pytest.mark.parametrize(
    ("path", "folder", "other"),
    [
        ("volumes/manuals/temporary-volume-credentials", "manuals", "churn/1"),
        ("models/churn/versions/1/temporary-model-credentials", "churn/1", "churn/2"),
    ],
)
def test_sessions_of_the_catalog_open_one_folder(
    store: SeaweedFS, client: httpx.Client, path: str, folder: str, other: str
) -> None:
    s3 = opened(store, client.post(f"{SCHEMA}/{path}"))
    found = s3.get_object(Bucket=store.bucket, Key=f"{folder}/a.bin")["Body"].read()
    assert found == folder.encode()
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.get_object(Bucket=store.bucket, Key=f"{other}/a.bin")


def test_a_model_is_described_as_its_catalog_does(client: httpx.Client, store: SeaweedFS) -> None:
    model = client.get(f"{SCHEMA}/models/churn").json()
    assert model["comment"] == "Who leaves"
    assert model["storageLocation"] == f"s3://{store.bucket}/churn"
    versions = client.get(f"{SCHEMA}/models/churn/versions").json()["items"]
    assert [each["version"] for each in versions] == [1]
    assert client.get(f"{SCHEMA}/models/churn/aliases/BEST").json() == versions[0]


def test_a_pending_version_is_shown_and_has_no_credentials(client: httpx.Client) -> None:
    version = f"{SCHEMA}/models/churn/versions/2"
    assert client.get(version).json()["status"] == "PENDING_REGISTRATION"
    answer = client.post(f"{version}/temporary-model-credentials")
    assert answer.status_code == 400
    assert "PENDING_REGISTRATION" in answer.json()["message"]


def test_a_volume_that_is_not_declared_is_not_found(client: httpx.Client, unity: UnityServer) -> None:
    unity.state.assets.volumes["main.eu.secret"] = volume_info("main.eu.secret", "s3://x/y", 9)
    assert client.get(f"{SCHEMA}/volumes/secret").status_code == 404
    assert [each["name"] for each in client.get(f"{SCHEMA}/volumes").json()["items"]] == ["manuals"]
