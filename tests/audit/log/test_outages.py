"""A log that can't be written refuses requests or loses records, as configured, and recovers."""

from __future__ import annotations

import asyncio
import logging
import resource
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from support.audit.records import KEYS, finding_in, numbered, opened, records_in, write_all
from support.servers.postgres import running_postgres

from sluicegate.api.errors import Unavailable
from sluicegate.audit.own_records import GAP, LogEntry
from sluicegate.audit.reading.query import StoredRecord
from sluicegate.audit.records import AuditLog
from sluicegate.audit.sinks.database.sqlite import SqliteTransactions
from sluicegate.audit.verification.files import verify_path
from sluicegate.audit.writers import required
from sluicegate.audit.writers.best_effort import BestEffortWriter
from sluicegate.audit.writers.required import RequiredWriter
from sluicegate.database import Store

_REFUSED = "the audit log can't be written; try again later"


class Switch:
    """A sink that fails while it is off, and can be held."""

    name = "switch"

    def __init__(self) -> None:
        self.is_on = True
        self.written: list[list[bytes]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.failed = asyncio.Event()

    async def append(self, entries: Sequence[LogEntry]) -> None:
        await self.gate.wait()
        if not self.is_on:
            self.failed.set()
            raise Unavailable("off", detail="it is off")
        self.written.append([entry.body for entry in entries])

    async def seal_others(self) -> None:
        """Do nothing."""

    async def index_records(self) -> bool:
        return False

    async def delete_before(self, oldest: int) -> None:
        raise NotImplementedError

    async def aclose(self) -> None:
        raise NotImplementedError


def _entry(number: int = 0) -> LogEntry:
    return LogEntry(b'{"n":%d}' % number, number)


async def _refusal(log: AuditLog) -> str:
    with pytest.raises(Unavailable) as refused:
        await log.write(numbered(0))
    assert refused.value.message == _REFUSED
    return refused.value.detail or ""


async def _records(url: str) -> list[StoredRecord]:
    store = await Store.open(url)
    try:
        assert await finding_in(store) is None
        return await records_in(store)
    finally:
        await store.aclose()


async def test_requests_that_wait_during_an_outage_are_refused_after_one_attempt() -> None:
    sink = Switch()
    writer = RequiredWriter(sink)
    async with writer.writing():
        sink.gate.clear()
        sink.is_on = False
        first = writer.submit(_entry(1))
        await asyncio.sleep(0)
        later = [writer.submit(_entry(number)) for number in range(2, 2000)]
        sink.gate.set()
        results = await asyncio.gather(first, *later, return_exceptions=True)
        assert all(isinstance(each, Unavailable) for each in results)
        sink.is_on = True
        await writer.submit(_entry(3))
    assert sink.written == [[b'{"n":3}']]


async def test_records_of_concurrent_requests_share_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(required, "_JOIN_SECONDS", 60)
    sink = Switch()
    writer = RequiredWriter(sink)
    async with writer.writing():
        sink.gate.clear()
        waiting = [writer.submit(_entry())]
        await asyncio.sleep(0)
        waiting += [writer.submit(_entry()) for _ in range(5)]
        sink.gate.set()
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        (first,) = (each for each in waiting if each.done())
        waiting += [writer.submit(_entry())]  # the first client sends its next request
        await asyncio.gather(*waiting)
        for _ in range(2):
            following = []
            for _ in range(6):  # the event loop starts one request after the other
                following.append(writer.submit(_entry()))
                await asyncio.sleep(0)
            await asyncio.gather(*following)
    assert first is waiting[0]
    assert [len(each) for each in sink.written] == [1, 6, 6, 6]


async def test_a_step_waits_only_for_a_moment_for_clients_that_have_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(required, "_JOIN_SECONDS", 0.01)
    sink = Switch()
    writer = RequiredWriter(sink)
    async with writer.writing():
        sink.gate.clear()
        waiting = [writer.submit(_entry()) for _ in range(6)]
        await asyncio.sleep(0)
        sink.gate.set()
        await asyncio.gather(*waiting)
        await writer.submit(_entry())
        monkeypatch.setattr(required, "_JOIN_SECONDS", 60)
        await writer.submit(_entry())
    assert [len(each) for each in sink.written][-2:] == [1, 1]


async def test_a_step_does_not_wait_for_records_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(required, "_JOIN_SECONDS", 0)
    sink = Switch()
    writer = RequiredWriter(sink)
    async with writer.writing():
        submitted = []
        while not sink.written:
            submitted.append(writer.submit(_entry()))
            await asyncio.sleep(0)
        await asyncio.gather(*submitted)
    assert len(sink.written[0]) < 20


async def test_the_only_client_does_not_wait_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Switch()
    writer = RequiredWriter(sink)
    async with writer.writing():
        await writer.submit(_entry(1))
        monkeypatch.setattr(required, "_JOIN_SECONDS", 3600)
        for number in (2, 3):
            await asyncio.wait_for(writer.submit(_entry(number)), 60)
    assert [len(each) for each in sink.written] == [1, 1, 1]


async def test_an_unexpected_error_refuses_requests_and_is_logged_with_its_traceback(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = Switch()
    writer = RequiredWriter(sink)

    async def fail(entries: Any) -> None:
        raise ZeroDivisionError

    async with writer.writing():
        monkeypatch.setattr(sink, "append", fail)
        with pytest.raises(Unavailable):
            await writer.submit(_entry())
        monkeypatch.undo()
        await writer.submit(_entry())
    assert [bool(record.exc_info) for record in caplog.records] == [True, False]


async def test_the_memory_of_a_required_log_is_bounded() -> None:
    sink = Switch()
    writer = RequiredWriter(sink, capacity=10_000)
    async with writer.writing():
        sink.gate.clear()
        submitted = []
        while writer.has_space:
            submitted.append(writer.submit(_entry()))
        waiting = asyncio.create_task(writer.wait_for_space())
        await asyncio.sleep(0)
        assert len(submitted) < 25
        sink.gate.set()
        await asyncio.gather(waiting, *submitted)
        assert writer.has_space


async def test_a_writer_refuses_after_its_end() -> None:
    writer = RequiredWriter(Switch())
    async with writer.writing():
        pass
    with pytest.raises(Unavailable):
        await writer.submit(_entry())


async def test_an_outage_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    sink = Switch()
    writer = RequiredWriter(sink)
    async with writer.writing():
        sink.is_on = False
        for _ in range(3):
            with pytest.raises(Unavailable):
                await writer.submit(_entry())
        sink.is_on = True
        await writer.submit(_entry())
    assert [record.getMessage() for record in caplog.records] == [
        "the audit log can't be written (switch), and requests are refused until it can: "
        "off [it is off]",
        "the audit log can be written again (switch); 3 requests were refused",
    ]


async def test_a_best_effort_log_keeps_what_fits_and_records_the_gap(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sink = Switch()
    writer = BestEffortWriter(sink, capacity=5_000, retry=0.001)
    async with writer.writing():
        sink.is_on = False
        for number in range(100):
            writer.submit(_entry(number))
        await sink.failed.wait()
        sink.is_on = True
    written = [body for step in sink.written for body in step]
    kept = [body for body in written if body.startswith(b'{"n":')]
    (gap,) = [body for body in written if body not in kept]
    assert kept == [b'{"n":%d}' % number for number in range(len(kept))]
    assert GAP.encode() in gap
    assert b'"records":%d,"since":%d,' % (100 - len(kept), len(kept)) in gap
    assert 0 < len(kept) < 15
    assert f"{100 - len(kept)} records were lost" in caplog.text
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.WARNING]


async def test_a_best_effort_log_that_never_recovers_ends(caplog: pytest.LogCaptureFixture) -> None:
    sink = Switch()
    writer = BestEffortWriter(sink, retry=60)
    async with writer.writing():
        sink.is_on = False
        writer.submit(_entry())
    assert "lost 1 records" in caplog.text


async def test_a_best_effort_log_does_not_wait(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/sluicegate.db"
    async with opened(url, "best_effort") as log:
        with _locked(tmp_path / "sluicegate.db"):
            await write_all(log, range(50))
    assert [each.record for each in await _records(url)] == [numbered(number) for number in range(50)]


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


async def test_a_locked_database_refuses_and_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluicegate.audit.sinks.database.sqlite._BUSY_TIMEOUT", 0.05)
    url = f"sqlite:///{tmp_path}/sluicegate.db"
    async with opened(url) as log:
        with _locked(tmp_path / "sluicegate.db"):
            assert "locked" in await _refusal(log)
        await write_all(log, range(3))
    assert len(await _records(url)) == 3


async def test_a_full_database_refuses_and_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/sluicegate.db"
    open_file = SqliteTransactions._open
    limits = iter([1])

    def limited(transactions: SqliteTransactions) -> sqlite3.Connection:
        connection = open_file(transactions)
        if next(limits, None):
            connection.execute("PRAGMA max_page_count = 1")  # the pages that it has already
        return connection

    monkeypatch.setattr(SqliteTransactions, "_open", limited)
    async with opened(url) as log:
        incompressible = tuple(token_hex(500) for _ in range(40))
        with pytest.raises(Unavailable) as refused:
            await log.write(numbered(0, changes=incompressible))
        assert refused.value.detail is not None
        assert "disk is full" in refused.value.detail
        await write_all(log, range(3))
    assert len(await _records(url)) == 3


@contextmanager
def _largest_file(size: int) -> Iterator[None]:
    """Limit the size of files that this process writes, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("more", [0, 1, 700])
async def test_a_full_disk_refuses_and_recovers_without_an_incomplete_line(
    tmp_path: Path, more: int
) -> None:
    url = f"sqlite:///{tmp_path}/sluicegate.db"
    audit = {"sinks": [{"type": "file", "path": str(tmp_path / "audit")}]}
    async with opened(url, audit) as log:
        await write_all(log, range(3))
        (file,) = (tmp_path / "audit").glob("*.ndjson")
        size = file.stat().st_size
        with _largest_file(size + more):
            results = await asyncio.gather(
                *(log.write(numbered(number)) for number in range(10)), return_exceptions=True
            )
        assert all(isinstance(each, Unavailable) and each.detail for each in results)
        assert file.stat().st_size == size
        await write_all(log, range(3, 6))
    (result,) = verify_path(tmp_path / "audit", KEYS)
    assert (result.records, result.finding) == (6, None)


async def test_a_stopped_postgresql_refuses_and_recovers() -> None:
    with running_postgres() as server:
        url = server.new_database()
        async with opened(url) as log:
            await write_all(log, range(3))
            server.crash()
            assert await _refusal(log)
            assert await _refusal(log)
            server.start_again()
            await write_all(log, range(3, 6))
        assert [each.record for each in await _records(url)] == [numbered(each) for each in range(6)]


async def test_a_postgresql_that_does_not_respond_refuses_within_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sluicegate.audit.sinks.database.postgresql._TIMEOUT", 0.3)
    with running_postgres() as server:
        url = server.new_database()
        store = await Store.open(url)
        async with opened(url) as log:
            await write_all(log, range(3))
            async with store.append() as connection:
                await connection.exec_driver_sql("SELECT 1 FROM audit_chains FOR UPDATE")
                assert "no response" in await _refusal(log)
            await write_all(log, range(3, 6))
        await store.aclose()
        assert len(await _records(url)) == 6
