"""The released version 0.1.0 and this one, one after the other and both at once, on one database."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest
from support.gateways.folder_site import LISTING, QUERY, Site, load
from support.gateways.gateway import RunningGateway, running_gateway, sluicegate
from support.servers.postgres import PostgresServer
from support.servers.serving import script

ROOT = Path(__file__).resolve().parents[2]
# The state of the repository that became 0.1.0.
RELEASED = "f5cc950"
SOURCES = ("gateway", "plugins/file/src", "catalog_adapters/paths/src")
SECONDS = 60


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The `PYTHONPATH` of the released version."""
    command = ["git", "-C", str(ROOT), "archive", RELEASED, "--", *SOURCES]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"the history of the repository does not contain {RELEASED}")
    folder = tmp_path_factory.mktemp("released")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return os.pathsep.join(str(folder / source) for source in SOURCES)


@contextmanager
def commands_of(released: str) -> Iterator[Callable[..., str]]:
    """Let commands be those of the released version; what runs one."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", released)
        yield partial(sluicegate, fresh=True)


@contextmanager
def released_gateway(folder: Path, released: str) -> Iterator[RunningGateway]:
    with running_gateway(folder, env={"PYTHONPATH": released}, fresh=True) as gateway:
        yield gateway


def assert_cannot_start(folder: Path, released: str) -> None:
    """The released version refuses the database of this version."""
    done = subprocess.run(
        [script(), "serve", "--port", "0"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": released},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert "is newer than this version supports" in done.stderr


def next_page(client: httpx.Client) -> str:
    token: str = client.get(LISTING).json()["nextPageToken"]
    return f"{LISTING}&pageToken={token}"


def test_the_database_of_the_released_version_is_migrated(tmp_path: Path, released: str) -> None:
    with commands_of(released) as run:
        site = Site(tmp_path, {}, run)
        assert "0.1.0" in run(tmp_path, "--version")
    with released_gateway(tmp_path, released) as old, site.client(old) as client:
        assert client.post(QUERY, json={}).status_code == 200
        page = next_page(client)
    with running_gateway(tmp_path) as new, site.client(new) as client:
        assert client.post(QUERY, json={}).status_code == 200
        assert client.get(page).status_code == 200
    assert_cannot_start(tmp_path, released)


def test_both_versions_serve_one_database_during_a_rolling_upgrade(
    tmp_path: Path, released: str, postgres: PostgresServer
) -> None:
    with commands_of(released) as run:
        settings = {"database": postgres.new_database(), "signing_key": "k" * 64}
        site = Site(tmp_path, settings, run)
    with ExitStack() as stack:
        old = stack.enter_context(released_gateway(tmp_path, released))
        with load(site, old) as statuses:
            new = stack.enter_context(running_gateway(tmp_path))  # migrates the database
            clients = [stack.enter_context(site.client(gateway)) for gateway in (old, new)]
            pages = [next_page(client) for client in clients]
            for client, page in zip(clients, reversed(pages), strict=True):
                assert client.post(QUERY, json={}).status_code == 200
                assert client.get(page).status_code == 200  # which the other version began
        assert set(statuses) == {200}
        share_a_schema(site)
        for client in clients:
            wait_until_status(client, "/shares/more/schemas", 200)
            assert client.get("/shares/more/schemas").json()["items"][0]["name"] == "all"
        sluicegate(tmp_path, "recipient", "revoke", "acme")
        for client in clients:
            wait_until_status(client, LISTING, 401)
    assert_cannot_start(tmp_path, released)


def share_a_schema(site: Site) -> None:
    """Add a share with an entire schema, by this version."""
    file = site.folder / "shares.yaml"
    declared = json.loads(file.read_text())
    source = {"catalog": "raw", "schema": "elsewhere"}
    declared["shares"]["more"] = {"schemas": {"all": {"from": source}}}
    declared["recipients"]["acme"]["shares"].append("more")
    file.write_text(json.dumps(declared))
    sluicegate(site.folder, "apply", "shares.yaml", "--offline")


def wait_until_status(client: httpx.Client, path: str, status: int) -> None:
    """Wait until a gateway has noticed a change."""
    until = time.monotonic() + SECONDS
    while client.get(path).status_code != status:
        assert time.monotonic() < until
        time.sleep(0.05)
