"""What a process shows the machine of itself and of all that it starts: command lines, environments."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

_PAUSE = 0.02  # seconds; the shells between a worker and its JVM live for longer


@dataclass
class Shown:
    """What was seen, each text once."""

    commands: set[str] = field(default_factory=set)
    environments: set[str] = field(default_factory=set)

    @property
    def everything(self) -> str:
        """All of it."""
        return "\n".join(self.commands | self.environments)

    def look(self, pid: int) -> None:
        """Add what is to be seen now."""
        with suppress(psutil.NoSuchProcess):
            self.commands.add(_read(pid, "cmdline"))
            for each in psutil.Process(pid).children(recursive=True):
                self.commands.add(_read(each.pid, "cmdline"))
                self.environments.add(_read(each.pid, "environ"))


@contextmanager
def descendants_watched(pid: int) -> Iterator[Shown]:
    """Look again and again until the block ends."""
    shown, ended = Shown(), threading.Event()

    def watch() -> None:
        while not ended.wait(_PAUSE):
            shown.look(pid)

    thread = threading.Thread(target=watch, name="descendants")
    thread.start()
    try:
        yield shown
    finally:
        ended.set()
        thread.join()


def _read(pid: int, name: str) -> str:
    """Nothing of a process that has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""
