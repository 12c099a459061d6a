"""A `sluicegate` command that serves until it is stopped, as a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

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
    stop_seconds: float = 15,
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a command in a folder until the block ends; its process and its address.

    Args:
        folder: Holds its configuration.
        arguments: Of `sluicegate`.
        log_file: Where its log is copied to.
        env: Variables beside those of this process.
        stop_seconds: How long it may take to end by itself.
    """
    process = subprocess.Popen(
        [script(), *arguments],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **(env or {})},
    )
    ready = _Ready(process, log_file)
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


class _Ready:
    """Copies a server's log into a file, and waits for the line that names its address."""

    def __init__(self, process: subprocess.Popen[str], log_file: Path) -> None:
        self._process = process
        self._log_file = log_file
        self._known = threading.Event()
        self._address: str | None = None
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        assert self._process.stderr is not None
        with self._log_file.open("a", buffering=1) as log, self._process.stderr as lines:
            for line in lines:
                log.write(line)
                if self._address is None and (found := _ADDRESS.search(line)):
                    self._address = found[1]
                    self._known.set()
        self._known.set()

    def wait(self) -> str:
        """The address.

        Raises:
            RuntimeError: The process ended, or did not get ready in time.
        """
        self._known.wait(START_SECONDS)
        if self._address is None:
            raise RuntimeError(f"the server did not start:\n{self._log_file.read_text()}")
        return self._address

    def join(self) -> None:
        """Wait for the end of the log."""
        self._thread.join(timeout=10)
