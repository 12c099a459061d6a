"""Objects are opened only with the table's credentials, on the host that they are for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import obstore
import pytest

from sluicegate.api import RealmGrant, TemporaryCredentials, UnsupportedOperation
from sluicegate_spark.granted_locations import GrantedLocations
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.purge.deletion import delete_objects
from sluicegate_testing.servers.catalog_http import Reply, Request, serve

KEYS: Final = {"access_key_id": "of-the-task", "secret_access_key": "secret"}
ANYWHERE: Final = GrantedLocations("prod", RealmGrant(None, None, None), of_catalog=True)
AMBIENT: Final = {
    "AWS_ACCESS_KEY_ID": "of-the-machine",
    "AWS_SECRET_ACCESS_KEY": "of-the-machine",
    "AWS_SESSION_TOKEN": "of-the-machine",
    "AZURE_STORAGE_ACCOUNT_KEY": "b2YtdGhlLW1hY2hpbmU=",
    "AZURE_STORAGE_TOKEN": "of-the-machine",
}


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[Request]]]:
    """A store that records requests, on a machine with ambient credentials."""
    for name, value in AMBIENT.items():
        monkeypatch.setenv(name, value)
    asked: list[Request] = []
    ports: list[int] = []

    def answer(request: Request) -> Reply:
        asked.append(request)
        return Reply(404, {})

    def at(port: int) -> Callable[[Request], Reply]:
        ports.append(port)
        return answer

    with serve(at):
        yield f"http://127.0.0.1:{ports[0]}", asked


def s3(endpoint: str, secret: Mapping[str, str] = KEYS) -> ObjectAccess:
    connection = {"endpoint": endpoint, "path_style": "true"}
    return ObjectAccess(TemporaryCredentials("s3://lake/t", "aws", secret, None, connection), ANYWHERE)


def azure(endpoint: str) -> ObjectAccess:
    location = "abfss://box@acct.dfs.core.windows.net/t"
    secret, connection = {"sas_token": "sv=1&sig=of-the-task"}, {"endpoint": endpoint}
    return ObjectAccess(TemporaryCredentials(location, "azure", secret, None, connection), ANYWHERE)


def read(access: ObjectAccess, location: str) -> None:
    opened, key = access.open(location)
    with pytest.raises(FileNotFoundError):
        obstore.get(opened, key)


def test_the_machines_token_is_not_shown_with_the_tasks_keys(store: tuple[str, list[Request]]) -> None:
    endpoint, asked = store
    read(s3(endpoint), "s3://lake/t/x")
    shown = {name.lower(): value for name, value in asked[0].headers.items()}
    assert "Credential=of-the-task/" in shown["authorization"]
    assert "x-amz-security-token" not in shown


def test_the_machines_account_key_does_not_replace_the_tasks_signature(
    store: tuple[str, list[Request]],
) -> None:
    endpoint, asked = store
    read(azure(endpoint), "abfss://box@acct.dfs.core.windows.net/t/x")
    assert "authorization" not in {name.lower() for name in asked[0].headers}


@pytest.mark.parametrize(
    "location",
    [
        "s3://evil.example?/x",
        "s3://evil.example#/x",
        "s3://user@evil.example/x",
        "s3://127.0.0.1:8080/x",
        "s3:///x",
        "s3://lake\\/x",
        "gs://lake/x",
        "abfss://box@acct.dfs.core.windows.net/x",
        "file:///etc/passwd",
    ],
)
def test_a_location_in_a_tables_files_names_no_other_host(location: str) -> None:
    access = ObjectAccess(TemporaryCredentials("s3://lake/t", "aws", KEYS, None, {}), ANYWHERE)
    with pytest.raises(UnsupportedOperation):
        access.open(location)
    done = delete_objects(access, [location])
    assert (done.deleted, done.left) == (0, 1)


@pytest.mark.parametrize("host", ["evil#.example", "evil?x", "evil@x", "evil\\\\x", ""])
def test_an_account_is_only_a_name(host: str) -> None:
    secret = {"sas_token": "sig=1"}
    access = ObjectAccess(
        TemporaryCredentials("abfss://box@a.b/t", "azure", secret, None, {}), ANYWHERE
    )
    with pytest.raises(UnsupportedOperation):
        access.open(f"abfss://box@{host}/x")
