"""A gateway for tables in its own folder, and the recipient who reads them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
from deltalake import write_deltalake
from support.gateways.gateway import RunningGateway, run_here, write_configuration

from sluicegate_testing.secrets import keep_secret

TABLES = ("orders", "returns")
LISTING = "/shares/lake/schemas/sales/tables?maxResults=1"
QUERY = "/shares/lake/schemas/sales/tables/orders/query"


class Site:
    """A folder with a configuration, and the recipient's token."""

    def __init__(
        self, folder: Path, settings: dict[str, Any], run: Callable[..., str] | None = None
    ) -> None:
        self.folder = folder
        for name in TABLES:
            write_deltalake(folder / name, pa.table({"id": [1, 2, 3]}))
        storage = {"type": "file", "prefix": f"file://{folder}/"}
        tables = {name: {"catalog": "raw", "table": f"file://{folder}/{name}"} for name in TABLES}
        write_configuration(
            folder,
            {"catalogs": {"raw": {"type": "paths"}}, "storage": [storage], **settings},
            {
                "shares": {"lake": {"schemas": {"sales": {"tables": tables}}}},
                "recipients": {"acme": {"shares": ["lake"]}},
            },
            run,
        )
        (run or run_here)(folder, "recipient", "rotate", "acme", "--profile", "acme.share", "--force")
        self.token = json.loads((folder / "acme.share").read_text())["bearerToken"]
        keep_secret(self.token)

    def client(self, gateway: RunningGateway) -> httpx.Client:
        headers = {"authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=gateway.endpoint, headers=headers, timeout=30)


@contextmanager
def load(site: Site, gateway: RunningGateway) -> Iterator[list[int]]:
    """Query, which writes into the ledger, until the block ends."""
    statuses: list[int] = []
    stop = threading.Event()

    def query() -> None:
        with site.client(gateway) as client:
            while not stop.wait(0.001):
                statuses.append(client.post(QUERY, json={}).status_code)

    thread = threading.Thread(target=query)
    thread.start()
    try:
        while len(statuses) < 20:
            stop.wait(0.01)
        yield statuses
    finally:
        stop.set()
        thread.join()
