"""The delegation service and its workers as processes of their own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.process.forked import Command, fork
from support.servers.delegation import SECRET

_SERVING = "serving delegated tasks at "


@dataclass(frozen=True)
class DelegationProcess:
    """A running command; what it says is in a file that the search for leaked secrets reads, too."""

    process: Command
    log: Path

    def said(self) -> str:
        """All that it has said."""
        return self.log.read_text()

    def address(self) -> str:
        """Where it serves the API, once it does."""
        until(lambda: _SERVING in self.said() or self.process.poll() is not None)
        _, serving, rest = self.said().partition(_SERVING)
        assert serving, self.said()
        return rest.split()[0]

    def stop(self, signal: int) -> int:
        """Send a signal and wait for the end; the exit code."""
        self.process.send_signal(signal)
        return self.process.wait(timeout=60)

    def stop_group(self, signal: int) -> int:
        """Send a signal to it and its children, as systemd does, and wait for its end."""
        os.killpg(self.process.pid, signal)
        return self.process.wait(timeout=60)


@contextmanager
def delegation_process(folder: Path, site: Path, *arguments: str) -> Iterator[DelegationProcess]:
    """`sluicegate delegation …` in a folder with a `gateway.yaml`, killed at the end of the block."""
    log = folder / f"{arguments[0]}-{len(list(folder.glob('*.gateway.log')))}.gateway.log"
    with log.open("wb") as output:
        process = fork(
            folder,
            *("delegation", *arguments),
            env={"PYTHONPATH": str(site), "POLARIS_SECRET": SECRET},
            stdout=output,
            stderr=output,
            start_new_session=True,  # so that its group can be signalled without the test's
        )
    try:
        yield DelegationProcess(process, log)
    finally:
        process.kill()
        process.wait()


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that will be."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)
