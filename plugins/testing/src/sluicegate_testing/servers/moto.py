"""moto's server: the identity and token services of AWS, which stores implement only in part.

It accepts any credentials and enforces nothing, so its responses only prove that requests are valid.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sluicegate_testing.servers.seaweedfs import ServerStartError


@contextmanager
def moto_server() -> Iterator[str]:
    """Run a server on a free port until the context ends, and return its endpoint."""
    command = [sys.executable, "-u", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        yield _announced(process)
    finally:
        process.kill()
        process.communicate()


def _announced(process: subprocess.Popen[str]) -> str:
    """Return the address that the process reports."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if found := re.search(r"Running on (http://127\.0\.0\.1:\d+)", line):
            return found[1]
    raise ServerStartError("moto did not start (pip install moto flask flask-cors):\n" + "".join(said))
