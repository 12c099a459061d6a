"""A pytest plugin that records what every test, fixture and started process takes.

It records only if SLUICEGATE_DURATIONS names a folder, as in each environment of `tox.ini`. Each worker
writes one file, a JSON object a line; `python -m runs` reads them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import Any, BinaryIO

import orjson
import pytest
from runs.records import Kind, Record, label, read
from runs.report import closing_line

_VARIABLE = "SLUICEGATE_DURATIONS"
_FOLDER = pytest.StashKey[Path]()


@dataclass
class _Clock:
    """Wall time, and CPU time of this process and of the ended processes that it started."""

    wall: float = field(default_factory=time.perf_counter)
    used: float = field(default_factory=lambda: _used(RUSAGE_SELF) + _used(RUSAGE_CHILDREN))

    def record(self, kind: Kind, name: str, place: str) -> Record:
        """A record of what was used since this clock was created."""
        now = _Clock()
        return Record(kind, name, place, now.wall - self.wall, now.used - self.used)


class Recorder:
    """Records one worker, or a run without workers.

    Args:
        file: Where the records are written.
    """

    def __init__(self, file: Path) -> None:
        self._file: BinaryIO = file.open("wb")
        self._place = ""

    def write(self, record: Record) -> None:
        """Add a record to the file."""
        self._file.write(orjson.dumps(record) + b"\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._place, clock = item.nodeid, _Clock()
        try:
            return (yield)
        finally:
            self.write(clock.record("test", item.nodeid, item.nodeid))

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any]
    ) -> Generator[None, object, object]:
        clock = _Clock()
        try:
            return (yield)
        finally:
            name = f"{fixturedef.argname} ({fixturedef.scope})"
            self.write(clock.record("fixture", name, self._place))

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        clock = _Clock()
        try:
            return (yield)
        finally:
            self.write(clock.record("collection", "collection", ""))

    def pytest_unconfigure(self) -> None:
        self._file.close()

    def watch_processes(self) -> None:
        """Record each process that this one starts with `subprocess`, when its end is noticed."""
        started: dict[int, tuple[str, str, float]] = {}
        start = subprocess.Popen.__init__

        def remember(popen: subprocess.Popen[Any], *arguments: Any, **options: Any) -> None:
            start(popen, *arguments, **options)
            started[popen.pid] = (label(popen.args), self._place, time.perf_counter())

        def waitpid(pid: int, options: int) -> tuple[int, int]:
            found, status, usage = os.wait4(pid, options)
            if found in started and not self._file.closed:
                name, place, began = started.pop(found)
                used = usage.ru_utime + usage.ru_stime
                self.write(Record("process", name, place, time.perf_counter() - began, used))
            return found, status

        # `poll` has a reference to `os.waitpid` of its own, for the time when modules are taken apart.
        for owner, name, value in (
            (subprocess.Popen, "__init__", remember),
            (os, "waitpid", waitpid),
            (getattr(subprocess, "_del_safe", None), "waitpid", waitpid),
        ):
            if owner is not None:
                setattr(owner, name, value)


def pytest_configure(config: pytest.Config) -> None:
    """Record this worker."""
    named = os.environ.get(_VARIABLE)
    if named is None:
        return
    folder = config.stash[_FOLDER] = Path(named)
    worker = os.environ.get("PYTEST_XDIST_WORKER") or None
    if worker is None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if getattr(config.option, "numprocesses", None):
            return  # this process only distributes the tests
    del os.environ[_VARIABLE]  # tests that run tests record nothing
    recorder = Recorder(folder / f"{worker or 'main'}.jsonl")
    recorder.watch_processes()
    config.pluginmanager.register(recorder, "durations-recorder")


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the sum of the run, and its dearest areas."""
    folder = config.stash.get(_FOLDER, None)
    if folder is not None:
        terminalreporter.write_line(closing_line(folder.name, read(folder)))


def _used(who: int) -> float:
    usage = getrusage(who)
    return usage.ru_utime + usage.ru_stime
