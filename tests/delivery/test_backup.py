"""Backups that are made under load are restored, and recipients read on with the tokens they have."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pyarrow as pa
from deltalake import write_deltalake
from support.gateways.gateway import RunningGateway, running_gateway, sluicegate, write_configuration
from support.servers.postgres import PostgresServer

from sluicegate.testing.secrets import keep_secret

TABLES = ("orders", "returns")
LISTING = "/shares/lake/schemas/sales/tables?maxResults=1"
QUERY = "/shares/lake/schemas/sales/tables/orders/query"


class Site:
    """A folder with a configuration, and the recipient's token."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.folder = folder
        for name in TABLES:
            write_deltalake(folder / name, pa.table({"id": [1, 2, 3]}))
        storage = {"type": "file", "prefix": f"file://{folder}/"}
        tables = {name: {"catalog": "raw", "table": f"file://{folder}/{name}"} for name in TABLES}
        write_configuration(
            folder,
            {"catalogs": {"raw": {"type": "paths"}}, "storage": [storage], **settings},
            {
                "shares": {"lake": {"schemas": {"sales": {"tables": tables}}}},
                "recipients": {"acme": {"shares": ["lake"]}},
            },
        )
        sluicegate(folder, "recipient", "rotate", "acme", "--profile", "acme.share", "--force")
        self.token = json.loads((folder / "acme.share").read_text())["bearerToken"]
        keep_secret(self.token)

    def client(self, gateway: RunningGateway) -> httpx.Client:
        headers = {"authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=gateway.endpoint, headers=headers, timeout=30)


@contextmanager
def load(site: Site, gateway: RunningGateway) -> Iterator[list[int]]:
    """Query, which writes into the ledger, until the block ends."""
    statuses: list[int] = []
    stop = threading.Event()

    def query() -> None:
        with site.client(gateway) as client:
            while not stop.wait(0.001):
                statuses.append(client.post(QUERY, json={}).status_code)

    thread = threading.Thread(target=query)
    thread.start()
    try:
        while len(statuses) < 20:
            stop.wait(0.01)
        yield statuses
    finally:
        stop.set()
        thread.join()


def assert_a_backup_restores(
    site: Site, back_up: Callable[[], None], lose_and_restore: Callable[[], None]
) -> None:
    with running_gateway(site.folder) as gateway:
        with site.client(gateway) as client:
            page = client.get(LISTING).json()["nextPageToken"]
        with load(site, gateway) as statuses:
            back_up()
        assert set(statuses) == {200}
    lose_and_restore()
    with running_gateway(site.folder) as gateway, site.client(gateway) as client:
        assert client.post(QUERY, json={}).status_code == 200
        assert client.get(f"{LISTING}&pageToken={page}").status_code == 200


def test_a_sqlite_backup_under_load(tmp_path: Path) -> None:
    site = Site(tmp_path, {})

    def back_up() -> None:
        sluicegate(tmp_path, "database", "backup", "backup")

    def lose_and_restore() -> None:
        for file in tmp_path.glob("sluicegate.*"):
            file.unlink()
        for file in (tmp_path / "backup").iterdir():
            shutil.copy(file, tmp_path)

    assert_a_backup_restores(site, back_up, lose_and_restore)


def test_a_postgresql_dump_under_load(tmp_path: Path, postgres: PostgresServer) -> None:
    database, empty = postgres.new_database(), postgres.new_database()
    site = Site(tmp_path, {"database": database, "signing_key": "k" * 64})
    program = str(postgres.program("pg_dump"))
    dump = tmp_path / "backup.sql"

    def back_up() -> None:
        command = [program, "--no-owner", f"--file={dump}", f"--dbname={database}"]
        subprocess.run(command, check=True, capture_output=True)

    def lose_and_restore() -> None:
        restore = [str(postgres.program("psql")), "-v", "ON_ERROR_STOP=1", "-f", str(dump), empty]
        subprocess.run(restore, check=True, capture_output=True)
        text = (tmp_path / "gateway.yaml").read_text()
        (tmp_path / "gateway.yaml").write_text(
            text.replace(urlsplit(database).path, urlsplit(empty).path)
        )

    assert_a_backup_restores(site, back_up, lose_and_restore)
