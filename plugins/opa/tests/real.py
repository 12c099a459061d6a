"""A real Open Policy Agent with the policies of the tests."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from sluicegate_testing.servers.ports import free_port

from .stand_in import EXAMPLE, TOKEN, WRONG

AUTHORIZATION = f"""package system.authz

default allow := false

allow if input.path == ["health"]

allow if input.identity == "{TOKEN}"
"""
_SECONDS = 30


@contextmanager
def real_server(binary: Path, folder: Path) -> Iterator[str]:
    """Run the binary on loopback until the block ends; the URL."""
    rules = "\n".join(rego for rego, _ in WRONG.values())
    conflict = "conflict := 1\nconflict := 2 if input.action\n"
    texts = {
        "example.rego": EXAMPLE,
        "authorization.rego": AUTHORIZATION,
        "wrong.rego": f"package wrong\n\n{rules}\n{conflict}",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command: list[str | Path] = [
        *(binary, "run", "--server", "--addr", f"127.0.0.1:{port}", "--log-level", "error"),
        *("--skip-version-check", "--authentication", "token", "--authorization", "basic"),
        *(folder / name for name in texts),
    ]
    with subprocess.Popen(command) as process:
        try:
            _wait(f"{url}/health", process)
            yield url
        finally:
            process.terminate()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _SECONDS
    while True:
        assert process.poll() is None, "the server did not start"
        try:
            with urlopen(url, timeout=5):  # noqa: S310 - on loopback
                return
        except (URLError, OSError):
            assert time.monotonic() < deadline, "the server is not ready"
            time.sleep(0.05)
