"""A gateway from the first moment of its process, whose start a test can hold up or break."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
from deltalake import write_deltalake
from support.gateways.gateway import run_here, write_configuration
from support.servers.serving import START_SECONDS, script

from sluicegate_testing.secrets import keep_secret
from sluicegate_testing.servers.ports import free_port

QUERY = "/delta-sharing/shares/sales/schemas/eu/tables/orders/query"

# Importing Arrow takes until the test allows it, as on a busy machine.
HELD_UP = """
import sys, time
from pathlib import Path

class Held:
    def find_spec(self, name, path=None, target=None):
        if name == "pyarrow":
            Path("loading").touch()
            while not Path("loaded").exists():
                time.sleep(0.02)

sys.meta_path.insert(0, Held())
"""


@dataclass(frozen=True)
class StartingGateway:
    """The process, and an HTTP client of its only recipient."""

    folder: Path
    process: subprocess.Popen[bytes]
    http: httpx.Client
    log: Path

    def wait_for(self, happened: Path) -> None:
        """Wait until the gateway has made a file."""
        until = time.monotonic() + START_SECONDS
        while not happened.exists():
            assert time.monotonic() < until, self.log.read_text()
            time.sleep(0.02)

    def wait_until_loading(self) -> None:
        """Wait until the gateway imports Arrow, and accepts connections."""
        self.wait_for(self.folder / "loading")

    def let_load(self) -> None:
        """Continue the import."""
        (self.folder / "loaded").touch()

    def wait_until_ready(self) -> None:
        """Wait for the line that says so."""
        until = time.monotonic() + START_SECONDS
        while "serving Delta Sharing" not in self.log.read_text():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < until, self.log.read_text()
            time.sleep(0.02)


@contextmanager
def starting_gateway(
    folder: Path, site: Mapping[str, str], **settings: Any
) -> Iterator[StartingGateway]:
    """Start a gateway with one table, and don't wait until it is ready."""
    port = free_port()
    write_deltalake(folder / "lake" / "orders", pa.table({"id": [1]}))
    orders = {"catalog": "raw", "table": f"file://{folder}/lake/orders"}
    configuration = {
        "catalogs": {"raw": {"type": "paths"}},
        "storage": [{"type": "file", "prefix": f"file://{folder}/lake/"}],
        "server": {"port": port},
        **settings,
    }
    shares = {"sales": {"schemas": {"eu": {"tables": {"orders": orders}}}}}
    recipients = {"acme": {"shares": ["sales"]}}
    write_configuration(folder, configuration, {"shares": shares, "recipients": recipients})
    run_here(folder, "recipient", "rotate", "acme", "--profile", "acme.share")
    token = json.loads((folder / "acme.share").read_text())["bearerToken"]
    keep_secret(token)
    modules = folder / "site"
    modules.mkdir(exist_ok=True)
    for name, code in site.items():
        (modules / name).write_text(code)
    log = folder / "gateway.log"
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            [script(), "serve"],
            cwd=folder,
            stderr=stderr,
            env={**os.environ, "PYTHONPATH": str(modules)},
        ) as process,
        httpx.Client(
            base_url=f"http://127.0.0.1:{port}",
            headers={"Authorization": f"Bearer {token}"},
            timeout=START_SECONDS,
        ) as http,
    ):
        try:
            yield StartingGateway(folder, process, http, log)
        finally:
            (folder / "loaded").touch()
            if process.poll() is None:
                process.terminate()
