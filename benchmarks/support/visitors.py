"""Clients that request the same again and again in threads, and count the statuses of the responses."""

from __future__ import annotations

import http.client
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_TIMEOUT_SECONDS = 60


@dataclass
class Visits:
    """The responses that clients got.

    Attributes:
        seconds: From each request to the end of its response.
    """

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    @property
    def refused(self) -> int:
        """Number of requests that did not get the status 200."""
        return self.statuses.total() - self.statuses[200]

    @property
    def p99(self) -> float:
        """The time that 99 of 100 responses did not exceed, in seconds."""
        return statistics.quantiles(self.seconds, n=100)[98]


@contextmanager
def visiting(address: str, path: str, tokens: Sequence[str], pause: float) -> Iterator[Visits]:
    """Let clients request a path until the block ends."""
    visits, stopping = Visits(), threading.Event()

    def visit(token: str) -> None:
        url = urlsplit(address)
        connection = http.client.HTTPConnection(url.hostname or "", url.port, _TIMEOUT_SECONDS)
        headers = {"authorization": f"Bearer {token}"}
        while not stopping.wait(pause):
            began = time.perf_counter()
            try:
                connection.request("GET", path, headers=headers)
                response = connection.getresponse()
                response.read()
                status = response.status
            except (OSError, http.client.HTTPException):
                connection.close()
                status = 0
            visits.statuses[status] += 1
            visits.seconds.append(time.perf_counter() - began)
        connection.close()

    threads = [threading.Thread(target=visit, args=(token,)) for token in tokens]
    for thread in threads:
        thread.start()
    try:
        yield visits
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
