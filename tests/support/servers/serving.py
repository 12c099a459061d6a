"""A `sluicegate` command that serves until it is stopped, as its own process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from support.process.forked import Command, can_fork, fork

START_SECONDS = 60
_ADDRESS = re.compile(r"\bserving .* at (https?://[^/\s]+)")


def script() -> str:
    """The command `sluicegate` of this environment."""
    return str(Path(sys.executable).with_name("sluicegate"))


@contextmanager
def serving(
    folder: Path,
    *arguments: str,
    log_file: Path,
    env: Mapping[str, str] | None = None,
    fresh: bool | None = None,
    stop_seconds: float = 15,
) -> Iterator[tuple[Command, str]]:
    """Run a command in a folder until the block ends; its process and its address."""
    lines, written = os.pipe()
    run = fork if can_fork() and not fresh else _started
    try:
        process = run(folder, *arguments, stderr=written, env=env)
    finally:
        os.close(written)
    ready = _Ready(lines, log_file)
    try:
        yield process, ready.wait()
    finally:
        process.terminate()
        try:
            process.wait(timeout=stop_seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        ready.join()


def _started(
    folder: Path, *arguments: str, stderr: int, env: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [script(), *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        env={**os.environ, **(env or {})},
    )


class _Ready:
    """Copies a server's log into a file, and waits for the line that names its address."""

    def __init__(self, lines: int, log_file: Path) -> None:
        self._lines = lines
        self._log_file = log_file
        self._known = threading.Event()
        self._address: str | None = None
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        with self._log_file.open("a", buffering=1) as log, os.fdopen(self._lines) as lines:
            for line in lines:
                log.write(line)
                if self._address is None and (found := _ADDRESS.search(line)):
                    self._address = found[1]
                    self._known.set()
        self._known.set()

    def wait(self) -> str:
        """The address."""
        self._known.wait(START_SECONDS)
        if self._address is None:
            raise RuntimeError(f"the server did not start:\n{self._log_file.read_text()}")
        return self._address

    def join(self) -> None:
        """Wait for the end of the log."""
        self._thread.join(timeout=10)
