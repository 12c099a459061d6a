"""Credentials of volumes, versions of models, and skills, on a store that checks session policies."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration
from support.gateways.s3_lake import storage_of

from sluicegate_testing.secrets import keep_credentials
from sluicegate_testing.servers.seaweedfs import SeaweedFS

SKILL = b"---\nname: sql-style\ndescription: How we write SQL.\n---\n"
FOLDERS = {
    "volumes/manuals": "manuals",
    "models/churn/versions/2": "churn/2",
    "skills/sql-style": "sql-style",
}
NEIGHBOURS = ("manuals2", "manuals-old", "churn/1", "churn/20", "churn/draft", "sql-style2", "other")
KINDS = {"volumes": "volume", "models": "model", "skills": "skill"}


@dataclass(frozen=True)
class Assets:
    """A gateway that shares one asset of each kind, and its store."""

    server: SeaweedFS
    gateway: RunningGateway

    def credentials(self, asset: str) -> dict[str, Any]:
        """Temporary credentials of an asset, by its path in the schema."""
        kind = KINDS[asset.partition("/")[0]]
        token = json.loads(self.gateway.profile("acme").read_text())["bearerToken"]
        answer = httpx.post(
            f"{self.gateway.endpoint}/shares/lake/schemas/eu/{asset}/temporary-{kind}-credentials",
            headers={"Authorization": f"Bearer {token}"},
            timeout=30,
        )
        assert answer.status_code == 200, answer.text
        assert "no-store" in answer.headers["cache-control"]
        credentials: dict[str, Any] = answer.json()["credentials"]
        keep_credentials(credentials)
        return credentials

    def store(self, credentials: Mapping[str, Any]) -> Any:
        """The store, as a recipient with these credentials sees it."""
        secret = credentials["awsTempCredentials"]
        return boto3.client(
            "s3",
            endpoint_url=self.server.endpoint,
            region_name=self.server.region,
            aws_access_key_id=secret["accessKeyId"],
            aws_secret_access_key=secret["secretAccessKey"],
            aws_session_token=secret["sessionToken"],
            config=Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}),
        )


@contextmanager
def shared_assets(server: SeaweedFS, folder: Path) -> Iterator[Assets]:
    root = f"s3://{server.bucket}"
    for name in (*FOLDERS.values(), *NEIGHBOURS):
        server.put(f"{name}/a.bin", name.encode())
    server.put("sql-style/SKILL.md", SKILL)
    storage = {
        **storage_of(server),
        "sts_endpoint": server.endpoint,
        "vending": {"role_arn": server.role_arn},
    }
    schema = {
        "volumes": {"manuals": {"catalog": "raw", "volume": f"{root}/manuals"}},
        "models": {"churn": {"catalog": "raw", "model": f"{root}/churn", "versions": [2]}},
        "skills": {"sql-style": {"catalog": "raw", "skill": f"{root}/sql-style"}},
    }
    write_configuration(
        folder,
        {"catalogs": {"raw": {"type": "paths"}}, "storage": [storage]},
        {
            "shares": {"lake": {"schemas": {"eu": schema}}},
            "recipients": {"acme": {"shares": ["lake"]}},
        },
    )
    with running_gateway(folder) as gateway:
        yield Assets(server, gateway)


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assets]:
    with (
        SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as server,
        shared_assets(server, tmp_path_factory.mktemp("gateway")) as running,
    ):
        yield running


@pytest.mark.parametrize(("asset", "folder"), FOLDERS.items())
def test_credentials_open_the_folder_and_nothing_else(assets: Assets, asset: str, folder: str) -> None:
    credentials = assets.credentials(asset)
    bucket = assets.server.bucket
    assert credentials["location"] == f"s3://{bucket}/{folder}"
    store = assets.store(credentials)
    listed = store.list_objects_v2(Bucket=bucket, Prefix=f"{folder}/")["Contents"]
    assert f"{folder}/a.bin" in [each["Key"] for each in listed]
    assert store.get_object(Bucket=bucket, Key=f"{folder}/a.bin")["Body"].read() == folder.encode()
    others = {*FOLDERS.values(), *NEIGHBOURS} - {folder}
    attempts: list[tuple[Any, dict[str, Any]]] = [
        *((store.get_object, {"Key": f"{other}/a.bin"}) for other in others),
        *((store.list_objects_v2, {"Prefix": f"{other}/"}) for other in others),
        (store.list_objects_v2, {"Prefix": ""}),
        (store.list_objects_v2, {"Prefix": folder.rpartition("/")[0] or folder}),
        (store.put_object, {"Key": f"{folder}/mine", "Body": b"x"}),
        (store.delete_object, {"Key": f"{folder}/a.bin"}),
    ]
    for call, arguments in attempts:
        with pytest.raises(ClientError) as refused:
            call(Bucket=bucket, **arguments)
        assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


def test_each_issuance_is_in_the_ledger_with_its_kind(assets: Assets) -> None:
    for asset in FOLDERS:
        assets.credentials(asset)
    shown = json.loads(assets.gateway.command("ledger", "--json"))
    root = f"s3://{assets.server.bucket}"
    assert {(each["asset"], each["table"], *each["locations"]) for each in shown} == {
        ("volume", "manuals", f"{root}/manuals"),
        ("model", "churn", f"{root}/churn/2"),
        ("skill", "sql-style", f"{root}/sql-style"),
    }


def test_credentials_end_in_time(tmp_path_factory: pytest.TempPathFactory) -> None:
    with (
        SeaweedFS.start(tmp_path_factory.mktemp("short"), session_seconds=10) as server,
        shared_assets(server, tmp_path_factory.mktemp("gateway")) as running,
    ):
        given = {asset: running.credentials(asset) for asset in FOLDERS}
        until = max(each["expirationTime"] for each in given.values()) / 1000
        assert until - time.time() <= 11
        time.sleep(max(0, until - time.time()) + 2)  # nothing but time ends them
        for asset, folder in FOLDERS.items():
            with pytest.raises(ClientError):
                running.store(given[asset]).get_object(Bucket=server.bucket, Key=f"{folder}/a.bin")
