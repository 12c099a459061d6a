"""The search for secrets finds what is there: it is the one test that must not pass by chance."""

from __future__ import annotations

import gzip
from pathlib import Path
from secrets import token_hex

import asyncpg
import httpx
import pytest
from support.servers.postgres import REMOVED_TOGETHER, running_postgres
from support.servers.telemetry import running_collector

from sluicegate_testing.secrets import (
    keep_secret,
    keep_url_secret,
    keep_written,
    registered,
    search,
    used_by_several,
)

SECRET = "s3cr3t/with+signs="


@pytest.mark.parametrize(
    "name",
    [
        *("gateway.log", "sluicegate.db", "deep/down/gateway.db-wal"),
        *("local-1795368590431", "app-20261122175800-0001.inprogress", "events_1_local-1795368590431"),
    ],
)
@pytest.mark.parametrize("spelled", [SECRET, "s3cr3t%2Fwith%2Bsigns%3D"])
def test_secrets_are_found_in_any_spelling(tmp_path: Path, name: str, spelled: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"\x00\xff" + spelled.encode() + b"\n")
    found = search([tmp_path], [SECRET, "another secret"])
    assert (found.files, len(found.leaks)) == (1, 1)
    assert SECRET not in found.leaks[0]


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "gateway.log").write_text("GET /shares 200")
    assert search([tmp_path], [SECRET]).leaks == ()


def test_what_is_kept_is_searched_for_at_the_end_of_the_run() -> None:
    signature = token_hex()
    keep_secret("a secret that no gateway sees", "short")
    keep_url_secret(f"https://store.example/a?X-Amz-Signature={signature}&X-Amz-Date=20260101")
    assert {"a secret that no gateway sees", signature} <= registered()
    assert "short" not in registered()


def test_each_line_of_a_private_key_is_a_secret(register: Path) -> None:
    keep_secret("-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2Vw\n-----END PRIVATE KEY-----\n")
    assert registered() == {"MC4CAQAwBQYDK2Vw"}


def test_a_secret_that_two_modules_contain_is_found_wherever_they_run(tmp_path: Path) -> None:
    modules = [tmp_path / "test_one.py", tmp_path / "test_other.py"]
    for number, module in enumerate(modules):
        module.write_text(f"OWN = 'own-secret-{number}'\nB = 'of-both-é'\n")
    kept = ["own-secret-0", "own-secret-1", "of-both-é", "of-none"]
    assert used_by_several(kept, modules) == ["of-both-é"]


@pytest.fixture
def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a register that ends with the test."""
    file = tmp_path / "secrets.registered"
    file.touch()
    monkeypatch.setenv("SLUICEGATE_TEST_SECRETS", str(file))
    return tmp_path


def test_what_is_written_nowhere_else_is_searched(register: Path) -> None:
    keep_written("errors", b"nothing")
    assert search([register], [SECRET]).leaks == ()
    keep_written("errors", f"no key {SECRET}".encode())
    assert len(search([register], [SECRET]).leaks) == 1


def test_an_empty_file_is_not_counted(tmp_path: Path) -> None:
    (tmp_path / "gateway.log").touch()
    assert search([tmp_path], [SECRET]).files == 0


async def test_rows_of_postgresql_are_searched(register: Path) -> None:
    with running_postgres() as server:
        connection = await asyncpg.connect(server.new_database())
        await connection.execute("CREATE TABLE kept (secret text)")
        await connection.execute("INSERT INTO kept VALUES ($1)", SECRET)
        await connection.close()
    assert len(search([register], [SECRET]).leaks) == 1


async def test_databases_of_finished_tests_are_searched_and_removed(register: Path) -> None:
    with running_postgres() as server:
        urls = [server.new_database() for _ in range(REMOVED_TOGETHER)]
        kept_open = await asyncpg.connect(urls[0])
        await kept_open.execute("CREATE TABLE kept (secret text)")
        await kept_open.execute("INSERT INTO kept VALUES ($1)", SECRET)
        for url in urls:
            server.give_back(url)
        assert len(search([register], [SECRET]).leaks) == 1
        with pytest.raises(asyncpg.InvalidCatalogNameError):
            await asyncpg.connect(urls[-1])
        await kept_open.close()


def test_exports_are_searched(register: Path) -> None:
    body = gzip.compress(SECRET.encode())
    with running_collector() as collector:
        url = f"{collector.endpoint}/v1/traces"
        httpx.post(url, content=body, headers={"content-encoding": "gzip"})
    assert len(search([register], [SECRET]).leaks) == 1
