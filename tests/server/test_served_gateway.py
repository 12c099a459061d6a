"""A gateway that serves from a real store applies changes of its configuration at SIGHUP."""

from __future__ import annotations

import json
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pyarrow as pa
import pytest
from support.gateways.gateway import RunningGateway
from support.gateways.s3_lake import SCHEMA, SHARE, S3Lake, s3_lake, storage_of, write_table

from sluicegate_testing.secrets import keep_secret
from sluicegate_testing.servers.seaweedfs import Identity, SeaweedFS

RELOADED = "the configuration was reloaded"
REFUSED = "the configuration was not reloaded"
ROWS = pa.table({"id": pa.array(range(5), pa.int64())})
ORDERS = "orders"
Wait = Callable[[RunningGateway, str, int], None]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as running:
        write_table(running, ORDERS, ROWS)
        yield running


@pytest.fixture(scope="module")
def lake(server: SeaweedFS, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Lake]:
    """A gateway whose S3 key is in files, which tests leave valid."""
    folder = tmp_path_factory.mktemp("gateway")
    write_key(folder, server.signer)
    storage = {
        **storage_of(server),
        "access_key_id": {"file": "access-key-id"},
        "secret_access_key": {"file": "secret-access-key"},
    }
    with s3_lake(folder, storage, [ORDERS, "returns"]) as lake:
        yield lake


def write_key(folder: Path, identity: Identity) -> None:
    keep_secret(identity.secret_access_key)
    write_private(folder / "access-key-id", identity.access_key_id)
    write_private(folder / "secret-access-key", identity.secret_access_key)


def write_private(file: Path, text: str) -> None:
    file.touch(mode=0o600)
    file.write_text(text)


class Load:
    """Recipients who query a table again and again, some of them on one connection."""

    def __init__(self, lake: S3Lake) -> None:
        self.statuses: list[int | str] = []
        self._lake = lake
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._query, args=(keeps,)) for keeps in (True, False, True)
        ]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _query(self, keeps: bool) -> None:
        headers = authorization(self._lake) | ({} if keeps else {"connection": "close"})
        with httpx.Client(headers=headers, timeout=30) as client:
            while not self._stop.wait(0.005):
                try:
                    self.statuses.append(client.post(query_url(self._lake), json={}).status_code)
                except httpx.TransportError as error:
                    self.statuses.append(repr(error))


def authorization(lake: S3Lake) -> dict[str, str]:
    token = json.loads(lake.recipient.profile.read_text())["bearerToken"]
    return {"authorization": f"Bearer {token}"}


def query_url(lake: S3Lake) -> str:
    return f"{lake.gateway.endpoint}/shares/{SHARE}/schemas/{SCHEMA}/tables/{ORDERS}/query"


def signer_of(lake: S3Lake) -> str:
    """The id of the access key with which the gateway signs URLs; the store accepts them."""
    url: str = lake.files(ORDERS)[0]["url"]
    assert httpx.get(url).status_code == 200
    return parse_qs(urlsplit(url).query)["X-Amz-Credential"][0].partition("/")[0]


def hang_up(lake: S3Lake, until_logged: Wait, text: str = RELOADED) -> None:
    """Send SIGHUP, and wait for its result."""
    before = lake.gateway.log.count(text)
    lake.gateway.process.send_signal(signal.SIGHUP)
    until_logged(lake.gateway, text, before + 1)


def change(folder: Path, **sections: Any) -> dict[str, Any]:
    """Change the configuration; what it was before."""
    file = folder / "gateway.yaml"
    before: dict[str, Any] = json.loads(file.read_text())
    file.write_text(json.dumps(before | sections))
    return before


def test_five_reloads_under_load_replace_the_key_of_the_store_without_a_failed_request(
    lake: S3Lake, server: SeaweedFS, until_logged: Wait
) -> None:
    with Load(lake) as load:
        for number in range(5):
            identity = (server.admin, server.signer)[number % 2]
            write_key(lake.gateway.folder, identity)
            hang_up(lake, until_logged)
            assert signer_of(lake) == identity.access_key_id
    assert len(load.statuses) > 20
    assert set(load.statuses) == {200}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"servr": {}}', "gateway.yaml:1"),
        ('{"database": "sqlite:////nowhere/x.db"}', "/nowhere"),
        ('{"plugins": ["absent"]}', "absent"),
        ('{"storage": [', "gateway.yaml:1"),
    ],
)
def test_the_previous_configuration_stays_in_use_if_the_new_one_is_invalid(
    lake: S3Lake, until_logged: Wait, content: str, problem: str
) -> None:
    file = lake.gateway.folder / "gateway.yaml"
    valid = file.read_text()
    file.write_text(content)
    hang_up(lake, until_logged, REFUSED)
    file.write_text(valid)
    (line,) = [line for line in lake.gateway.log.splitlines() if REFUSED in line][-1:]
    assert problem in line
    assert lake.query(ORDERS).status_code == 200


def test_a_request_in_progress_completes_with_the_previous_configuration(
    lake: S3Lake, until_logged: Wait
) -> None:
    url = httpx.URL(query_url(lake))
    head = (
        f"POST {url.path} HTTP/1.1\r\nhost: gateway\r\ncontent-type: application/json\r\n"
        f"authorization: {authorization(lake)['authorization']}\r\ncontent-length: 2\r\n\r\n"
    )
    with socket.create_connection((url.host, url.port or 80), 30) as client:
        client.sendall(head.encode() + b"{")
        hang_up(lake, until_logged)
        client.sendall(b"}")
        assert client.recv(4096).startswith(b"HTTP/1.1 200")


def test_a_page_token_survives_a_new_signing_key_while_the_old_one_is_listed(
    lake: S3Lake, until_logged: Wait
) -> None:
    folder = lake.gateway.folder
    keys = [token_hex(32) for _ in range(2)]
    for number, key in enumerate(keys):
        write_private(folder / f"key-{number}", key)
        keep_secret(key)
    tables = f"schemas/{SCHEMA}/tables?maxResults=1"
    before = change(folder, signing_key={"file": "key-0"})
    hang_up(lake, until_logged)
    token = lake.get(tables).json()["nextPageToken"]
    change(folder, signing_key={"file": "key-1"}, previous_signing_keys=[{"file": "key-0"}])
    hang_up(lake, until_logged)
    assert lake.get(f"{tables}&pageToken={token}").status_code == 200
    change(folder, previous_signing_keys=[])
    hang_up(lake, until_logged)
    assert lake.get(f"{tables}&pageToken={token}").status_code == 400
    (folder / "gateway.yaml").write_text(json.dumps(before))
    hang_up(lake, until_logged)


def test_settings_that_need_a_restart_are_named(lake: S3Lake, until_logged: Wait) -> None:
    before = change(
        lake.gateway.folder,
        server={"max_connections": 7, "compression": False},
        telemetry={"log_level": "debug"},
    )
    hang_up(lake, until_logged)
    until_logged(lake.gateway, "server.max_connections has changed, which takes effect after", 1)
    until_logged(lake.gateway, "telemetry has changed", 1)
    assert "server.compression has changed" not in lake.gateway.log
    assert "server.port has changed" not in lake.gateway.log  # it is from the command line
    (lake.gateway.folder / "gateway.yaml").write_text(json.dumps(before))
    hang_up(lake, until_logged)
