"""Whose credentials read a Unity Catalog's tables in S3: sessions and their limits are SeaweedFS's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import httpx
import obstore
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from support.gateways.s3_lake import storage_of, write_table
from support.gateways.unity_lake import UnityLake, rows, unity_lake

from sluicegate_testing.secrets import keep_secret
from sluicegate_testing.servers.seaweedfs import Identity, SeaweedFS
from sluicegate_testing.servers.unity_catalog.unity import UnityServer, table_info

NOBODY = Identity("nobody", "nobodys-key", "nobodys-secret")
CREDENTIALS = "schemas/eu/tables/orders/temporary-table-credentials"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as server:
        write_table(server, "orders", rows(1, 2, 3))
        write_table(server, "neighbour", rows(4))
        yield server


@pytest.fixture
def unity(store: SeaweedFS) -> Iterator[UnityServer]:
    with UnityServer.start() as server:
        server.state.add(table_info("main.eu.orders", f"s3://{store.bucket}/orders"))
        yield server


def sts(store: SeaweedFS) -> Any:
    who = store.signer
    return boto3.client(
        "sts",
        region_name=store.region,
        endpoint_url=store.endpoint,
        aws_access_key_id=who.access_key_id,
        aws_secret_access_key=who.secret_access_key,
    )


def session(store: SeaweedFS, directory: str) -> dict[str, Any]:
    """What Unity Catalog gives for a table: a role's session that reads one directory."""
    arn = f"arn:aws:s3:::{store.bucket}"
    listed = {"StringLike": {"s3:prefix": [f"{directory}/*", directory]}}
    statements = [
        {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"{arn}/{directory}/*"},
        {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": arn, "Condition": listed},
    ]
    given = sts(store).assume_role(
        RoleArn=store.role_arn,
        RoleSessionName="unity",
        DurationSeconds=3600,
        Policy=json.dumps({"Version": "2012-10-17", "Statement": statements}),
    )["Credentials"]
    keep_secret(given["SecretAccessKey"], given["SessionToken"])
    return {
        "aws_temp_credentials": {
            "access_key_id": given["AccessKeyId"],
            "secret_access_key": given["SecretAccessKey"],
            "session_token": given["SessionToken"],
        },
        "expiration_time": int(given["Expiration"].timestamp() * 1000),
    }


def fixed(store: SeaweedFS, _: str = "") -> dict[str, Any]:
    """What it gives where a bucket is configured with keys instead of a role."""
    keys = {
        "access_key_id": store.signer.access_key_id,
        "secret_access_key": store.signer.secret_access_key,
        "session_token": None,
    }
    return {"aws_temp_credentials": keys, "expiration_time": None}


@pytest.fixture
def lake(
    request: pytest.FixtureRequest,
    store: SeaweedFS,
    unity: UnityServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[UnityLake]:
    """Behind storage that can do nothing by itself, unless a test says `own`."""
    own = getattr(request, "param", None) == "own"
    storage = storage_of(store, store.signer if own else NOBODY)
    folder = tmp_path_factory.mktemp("gateway")
    with unity_lake(folder, unity, storage, ["eu.orders"], access_modes=["url", "dir"]) as running:
        yield running


def test_sessions_of_the_catalog_read_sign_and_are_given_on(
    store: SeaweedFS, unity: UnityServer, lake: UnityLake
) -> None:
    known = unity.state.tables["main.eu.orders"]
    unity.state.credentials[known["table_id"]] = session(store, "orders")
    assert lake.ids("orders") == [1, 2, 3]

    answer = lake.ask("POST", CREDENTIALS, json={})
    assert answer.status_code == 200, answer.text
    given = answer.json()["credentials"]
    upstream = unity.state.credentials[known["table_id"]]
    assert given["location"] == known["storage_location"]
    assert given["expirationTime"] == upstream["expiration_time"]
    assert (
        given["awsTempCredentials"]["sessionToken"]
        == (upstream["aws_temp_credentials"]["session_token"])
    )
    assert _listed(store, given["awsTempCredentials"], "orders/")
    with pytest.raises(ClientError, match="AccessDenied"):
        _listed(store, given["awsTempCredentials"], "neighbour/")


def test_fixed_keys_of_the_catalog_sign_and_are_never_given_on(
    store: SeaweedFS, unity: UnityServer, lake: UnityLake
) -> None:
    unity.state.credentials[unity.state.tables["main.eu.orders"]["table_id"]] = fixed(store)
    assert lake.ids("orders") == [1, 2, 3]
    answer = lake.ask("POST", CREDENTIALS, json={})
    assert answer.status_code == 400
    assert "does not offer directory access (dir); read it by presigned URLs" in answer.text
    assert store.signer.secret_access_key not in answer.text


@pytest.mark.parametrize("given", [session, fixed], ids=["sessions", "fixed keys"])
def test_directory_access_is_offered_where_it_can_be_had(
    store: SeaweedFS, unity: UnityServer, lake: UnityLake, given: Callable[..., dict[str, Any]]
) -> None:
    table_id = unity.state.tables["main.eu.orders"]["table_id"]
    unity.state.credentials[table_id] = given(store, "orders")
    for _ in range(2):  # what a listing does not wait for is in the next one
        (listed,) = lake.ask("GET", "schemas/eu/tables").json()["items"]
    both = "responseformat=delta;accessmode=url,dir"
    metadata = lake.ask("GET", "schemas/eu/tables/orders/metadata", both)
    offered = ["url", "dir"] if given is session else ["url"]
    assert listed.get("accessModes", ["url"]) == offered
    agreed = metadata.headers["delta-sharing-capabilities"].split(";")
    assert f"accessmode={','.join(offered)}" in agreed
    assert ("location" in listed, "location" in metadata.text) == (given is session,) * 2


def test_a_uniform_table_is_in_the_iceberg_catalog(
    store: SeaweedFS, unity: UnityServer, lake: UnityLake
) -> None:
    metadata = f"s3://{store.bucket}/orders/metadata/v1.metadata.json"
    obstore.put(store.store(), "orders/metadata/v1.metadata.json", b'{"format-version": 2}')
    known = unity.state.tables["main.eu.orders"]
    known["properties"] = {"delta.universalFormat.enabledFormats": "iceberg"}
    unity.state.uniform["main.eu.orders"] = metadata
    unity.state.credentials[known["table_id"]] = session(store, "orders")
    namespace = f"{lake.gateway.address}/iceberg/v1/shares/lake/namespaces/eu"
    token = json.loads(lake.recipient.profile.read_text())["bearerToken"]
    with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=30) as client:
        for _ in range(2):  # what a listing does not wait for is in the next one
            listed = client.get(f"{namespace}/tables").json()
        vended = {"X-Iceberg-Access-Delegation": "vended-credentials"}
        loaded = client.get(f"{namespace}/tables/orders", headers=vended).json()
    assert listed["identifiers"] == [{"namespace": ["eu"], "name": "orders"}]
    assert (loaded["metadata-location"], loaded["metadata"]) == (metadata, {"format-version": 2})
    [credentials] = loaded["storage-credentials"]
    assert credentials["prefix"].rstrip("/") == known["storage_location"]
    assert lake.ids("orders") == [1, 2, 3]


@pytest.mark.parametrize("lake", ["own"], indirect=True)
def test_a_bucket_that_the_catalog_does_not_know_is_read_by_the_storage_itself(
    unity: UnityServer, lake: UnityLake
) -> None:
    assert lake.ids("orders") == [1, 2, 3]
    assert lake.ids("orders") == [1, 2, 3]
    assert unity.count("/temporary-table-credentials") == 1


def _listed(store: SeaweedFS, secret: dict[str, str], prefix: str) -> list[str]:
    """Keys that an S3 client finds; it reads the first of them."""
    s3 = boto3.client(
        "s3",
        endpoint_url=store.endpoint,
        region_name=store.region,
        aws_access_key_id=secret["accessKeyId"],
        aws_secret_access_key=secret["secretAccessKey"],
        aws_session_token=secret["sessionToken"],
        config=Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}),
    )
    found = s3.list_objects_v2(Bucket=store.bucket, Prefix=prefix)["Contents"]
    keys = [item["Key"] for item in found]
    assert s3.get_object(Bucket=store.bucket, Key=keys[0])["Body"].read()
    return keys
