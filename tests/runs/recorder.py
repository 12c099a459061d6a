"""A pytest plugin that records what every test, fixture and started process takes.

It records only if SLUICEGATE_DURATIONS names a folder, as in each environment of `tox.ini`. Each worker
writes one file, a JSON object a line; `python -m runs` reads them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import pytest
from runs.records import Kind, Record, label, read
from runs.report import closing_line
from support.process import forked

_VARIABLE = "SLUICEGATE_DURATIONS"
_FOLDER = pytest.StashKey[Path]()


class Recorder:
    """Records one worker, or a run without workers."""

    def __init__(self, file: Path) -> None:
        self._file: BinaryIO = file.open("wb")
        self._place = ""

    @contextmanager
    def recorded(self, kind: Kind, name: str) -> Iterator[None]:
        """Record what the block takes in this process."""
        began, used = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            seconds = time.perf_counter() - began
            self._write(Record(kind, name, self._place, seconds, time.process_time() - used))

    def process_ended(self, name: str, place: str, seconds: float, cpu: float) -> None:
        """Record a process."""
        if not self._file.closed:
            self._write(Record("process", name, place, seconds, cpu))

    def _write(self, record: Record) -> None:
        self._file.write(orjson.dumps(record) + b"\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._place = item.nodeid
        with self.recorded("test", item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any]
    ) -> Generator[None, object, object]:
        with self.recorded("fixture", f"{fixturedef.argname} ({fixturedef.scope})"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        with self.recorded("collection", "collection"):
            return (yield)

    def pytest_unconfigure(self) -> None:
        self._file.close()

    def watch_processes(self) -> None:
        """Record each process that this one starts or lets be forked, when its end is noticed."""
        forked.listeners.append(
            lambda arguments, seconds, cpu: self.process_ended(
                f"forked {label(['sluicegate', *arguments])}", self._place, seconds, cpu
            )
        )
        started: dict[int, tuple[str, str, float]] = {}
        start = subprocess.Popen.__init__

        def remember(popen: subprocess.Popen[Any], *arguments: Any, **options: Any) -> None:
            start(popen, *arguments, **options)
            started[popen.pid] = (label(popen.args), self._place, time.perf_counter())

        def waitpid(pid: int, options: int) -> tuple[int, int]:
            found, status, usage = os.wait4(pid, options)
            if found in started:
                name, place, began = started.pop(found)
                # The time of the server includes that of what it has forked.
                if not name.endswith(forked.SERVER):
                    used = usage.ru_utime + usage.ru_stime
                    self.process_ended(name, place, time.perf_counter() - began, used)
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
