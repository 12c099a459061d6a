"""Asks `/livez` all the time: the gateway must respond, whatever fails behind it."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_PAUSE_SECONDS = 0.5
# The default timeout of probes in Kubernetes is one second; this machine has other work, too.
MOST_SECONDS = 5.0


@dataclass
class Liveness:
    """The answers so far.

    Attributes:
        seconds: How long each took.
        failures: What else happened.
    """

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@contextmanager
def watched(address: str, violation: Callable[[str], None]) -> Iterator[Liveness]:
    """Ask in a thread until the block ends."""
    liveness, ended = Liveness(), threading.Event()

    def watch() -> None:
        while not ended.wait(_PAUSE_SECONDS):
            if (failure := _ask(address, liveness)) is not None:
                liveness.failures.append(failure)
                violation(f"/livez: {failure}")

    thread = threading.Thread(target=watch, name="liveness")
    thread.start()
    try:
        yield liveness
    finally:
        ended.set()
        thread.join()


def _ask(address: str, liveness: Liveness) -> str | None:
    """What is wrong with an answer."""
    began = time.monotonic()
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=2 * MOST_SECONDS)
    try:
        connection.request("GET", "/livez")
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        connection.close()
    took = time.monotonic() - began
    liveness.seconds.append(took)
    if status != 200:
        return f"status {status}"
    return f"took {took:.1f} seconds" if took > MOST_SECONDS else None
