"""moto's server: the identity and token services of AWS, which stores do not have whole.

It takes any credentials and enforces nothing, so what it answers proves the requests only.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sluicegate.testing.servers.seaweedfs import ServerStartError


@contextmanager
def moto_server() -> Iterator[str]:
    """The endpoint of a server that runs until the context ends, on a port of the system's choice."""
    command = [sys.executable, "-u", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        yield _announced(process)
    finally:
        process.kill()
        process.communicate()


def _announced(process: subprocess.Popen[str]) -> str:
    """The address that the process itself says it listens on."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if found := re.search(r"Running on (http://127\.0\.0\.1:\d+)", line):
            return found[1]
    raise ServerStartError("moto did not start (pip install moto flask flask-cors):\n" + "".join(said))
