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
from support.gateways.gateway import (
    RunningGateway,
    running_gateway,
    sluicegate,
    write_configuration,
)
from support.gateways.s3_lake import storage_of

from sluicegate_testing.secrets import keep_credentials, keep_secret
from sluicegate_testing.servers.seaweedfs import SeaweedFS
from sluicegate_testing.servers.unity_catalog.unity import (
    UnityServer,
    model_info,
    version_info,
    volume_info,
)

TOKEN = "unity-service-token"
SCHEMA = "shares/lake/schemas/eu"
ENTIRE = "shares/entire/schemas/us"
FRESH = {"max_age": "0s", "stale_while_revalidate": "0s"}
MODEL = "main.eu.churn"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as server:
        for folder in ("manuals", "churn/1", "churn/2", "forms", "forms2"):
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
        for number, name in enumerate(("forms", "forms2"), start=5):
            forms = volume_info(f"main.us.{name}", f"{root}/{name}", number)
            server.state.assets.volumes[f"main.us.{name}"] = forms
            server.state.credentials[forms["volume_id"]] = session(store, name)
        yield server


@pytest.fixture(scope="module")
def gateway(
    store: SeaweedFS, unity: UnityServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningGateway]:
    folder: Path = tmp_path_factory.mktemp("gateway")
    section = {"type": "unity", "uri": unity.uri, "catalog": "main", "token": TOKEN, **FRESH}
    schema = {
        "from": {"catalog": "unity", "schema": "eu"},
        "volumes": {"manuals": {"catalog": "unity", "volume": "eu.manuals"}},
        "models": {"churn": {"catalog": "unity", "model": "eu.churn", "aliases": {"best": 1}}},
    }
    write_configuration(
        folder,
        {"catalogs": {"unity": section}, "storage": [storage_of(store, NOBODY)]},
        {
            "shares": {
                "lake": {"schemas": {"eu": schema}},
                "entire": {
                    "from": {
                        "catalog": "unity",
                        "include": ["us"],
                        "kinds": ["tables", "volumes", "models"],
                    }
                },
            },
            "recipients": {"acme": {"shares": ["lake", "entire"]}},
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


def test_all_volumes_of_a_catalog_are_shared(client: httpx.Client, store: SeaweedFS) -> None:
    volumes = client.get("shares/entire/all-volumes").json()["items"]
    root = f"s3://{store.bucket}"
    located = [(each["schema"], each["name"], each["storageLocation"]) for each in volumes]
    assert located == [("us", "forms", f"{root}/forms"), ("us", "forms2", f"{root}/forms2")]
    assert client.get(f"{ENTIRE}/volumes/FORMS").json() == volumes[0]
    assert client.get(f"{ENTIRE}/tables").json() == {"items": []}
    assert client.get("shares/entire/all-models").json() == {"items": []}


def test_sessions_of_a_listed_volume_open_its_folder(store: SeaweedFS, client: httpx.Client) -> None:
    s3 = opened(store, client.post(f"{ENTIRE}/volumes/forms/temporary-volume-credentials"))
    found = s3.get_object(Bucket=store.bucket, Key="forms/a.bin")["Body"].read()
    assert found == b"forms"
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.get_object(Bucket=store.bucket, Key="forms2/a.bin")


def test_volumes_come_and_go_with_the_catalog(client: httpx.Client, unity: UnityServer) -> None:
    unity.state.assets.volumes["main.us.new"] = volume_info("main.us.new", "file:///etc/new", 9)
    unity.state.assets.volumes["main.us.two"] = volume_info("main.us.two", "s3://other/two", 10)
    # No configured storage serves their locations.
    for name in ("new", "two"):
        assert client.get(f"{ENTIRE}/volumes/{name}").status_code == 503
        assert client.post(f"{ENTIRE}/volumes/{name}/temporary-volume-credentials").status_code == 503
    names = [each["name"] for each in client.get(f"{ENTIRE}/volumes").json()["items"]]
    assert names == ["forms", "forms2"]
    del unity.state.assets.volumes["main.us.forms2"]
    assert client.get(f"{ENTIRE}/volumes/forms2").status_code == 404
    assert client.get(f"{ENTIRE}/volumes/new2").status_code == 404


def test_each_credential_of_a_listed_volume_is_in_the_ledger(
    client: httpx.Client, gateway: RunningGateway
) -> None:
    client.post(f"{ENTIRE}/volumes/forms/temporary-volume-credentials").raise_for_status()
    shown = sluicegate(gateway.folder, "ledger", "--share", "entire")
    assert "  volume  entire.us.forms  credentials/aws  " in shown
