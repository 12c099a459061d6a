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
    """

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@contextmanager
def watched(
    address: str, failed: Callable[[str], None], late: Callable[[str, float], None]
) -> Iterator[Liveness]:
    """Ask in a thread until the block ends."""
    liveness, ended = Liveness(), threading.Event()

    def watch() -> None:
        while not ended.wait(_PAUSE_SECONDS):
            if (failure := _ask(address, liveness)) is not None:
                liveness.failures.append(failure)
                failed(f"/livez: {failure}")
            elif (took := liveness.seconds[-1]) > MOST_SECONDS:
                late(f"/livez took {took:.1f} seconds", took)

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
    liveness.seconds.append(time.monotonic() - began)
    return None if status == 200 else f"status {status}"
