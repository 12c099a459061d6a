"""A second client that goes on while a server is attacked, and the server's peak of memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

_MB = 1_000_000
_PAUSE = 0.02  # seconds between two requests, so that the bystander is no attacker itself
_ENOUGH = 3  # rounds that must be answered, however short the attack was


@dataclass
class Watch:
    """What a bystander saw, and what the server's memory did.

    Attributes:
        peak: Most resident memory of the server's process since the watch began, bytes.
        before: Its resident memory when the watch began, bytes.
    """

    answered: int = 0
    failures: list[str] = field(default_factory=list)
    peak: int = 0
    before: int = 0

    @property
    def growth(self) -> int:
        """By how many bytes the memory exceeded what it was before, at the most."""
        return self.peak - self.before

    def check(self, growth: int) -> None:
        """Fail where anybody was not served, or the memory grew by more than so many bytes."""
        assert not self.failures, self.failures[:3]
        assert self.growth <= growth, (
            f"the memory grew by {self.growth / _MB:.0f} MB, {growth / _MB:.0f} MB are allowed"
        )


@contextmanager
def watched(pid: int, client: httpx.Client, requests: Sequence[httpx.Request]) -> Iterator[Watch]:
    """Send requests in turn until the block ends, each at least a few times."""
    watch = Watch(before=memory(pid, "VmRSS"))
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak begins again (man 5 proc)
    ended = threading.Event()

    def ask() -> None:
        rounds = 0
        while not ended.is_set() or rounds < _ENOUGH:
            for request in requests:
                _send(client, request, watch)
            rounds += 1
            time.sleep(_PAUSE)

    thread = threading.Thread(target=ask, name="bystander")
    thread.start()
    try:
        yield watch
    finally:
        ended.set()
        thread.join()
        watch.peak = memory(pid, "VmHWM")


def _send(client: httpx.Client, request: httpx.Request, watch: Watch) -> None:
    named = f"{request.method} {request.url.path}"
    try:
        answer = client.send(request)
    except httpx.HTTPError as error:
        watch.failures.append(f"{named}: {type(error).__name__}: {error}")
        return
    if answer.status_code == 200:
        watch.answered += 1
    else:
        watch.failures.append(f"{named}: {answer.status_code} {answer.text[:300]}")


def memory(pid: int | str, name: str) -> int:
    """A figure of the process's memory, bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"process {pid} has no {name}")
