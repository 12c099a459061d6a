"""Backups that are made under load are restored, and recipients read on with the tokens they have."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from support.gateways.folder_site import LISTING, QUERY, Site, load
from support.gateways.gateway import running_gateway, sluicegate
from support.servers.postgres import PostgresServer


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
