"""The Iceberg catalog of a gateway in this process, over files of this machine."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.gateways.iceberg_lake import PLUGIN
from support.gateways.in_process import Answer, Request
from support.gateways.vending_files import VendingGateway, vending_gateway

ICEBERG = "/iceberg/v1"
SHARE = f"{ICEBERG}/shares/sales"
NAMESPACE = f"{SHARE}/namespaces/eu"
METADATA = {
    "format-version": 2,
    "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
    "current-snapshot-id": 3,
    "refs": {"main": {"snapshot-id": 3, "type": "branch"}, "old": {"snapshot-id": 1, "type": "tag"}},
    "snapshots": [{"snapshot-id": number} for number in (1, 2, 3)],
}
TABLES: dict[str, dict[str, Any]] = {
    "orders": {"format": "iceberg", "metadata": "v3.metadata.json"},
    "packed": {"format": "iceberg", "metadata": "v3.gz.metadata.json"},
    "uniform": {"format": "delta", "metadata": "v3.metadata.json"},
    "scattered": {"format": "iceberg", "metadata": "v3.metadata.json", "auxiliary": ["data/scattered"]},
    "broken": {"format": "iceberg", "metadata": "broken.metadata.json"},
    "empty": {"format": "iceberg", "metadata": "empty.metadata.json"},
    "missing": {"format": "iceberg", "metadata": "missing.metadata.json"},
    "sealed": {"format": "iceberg", "metadata": "v3.metadata.json"},
    "outside": {"format": "iceberg", "metadata": "../orders/metadata/v3.metadata.json"},
    "plain": {"format": "delta"},
    "unlucky": {"format": "iceberg", "metadata": "v3.metadata.json"},
}
OFFERED = ["broken", "empty", "missing", "orders", "packed", "scattered", "uniform", "unlucky"]


@dataclass(frozen=True)
class IcebergGateway:
    """A gateway, and a recipient that queries its Iceberg catalog."""

    vending: VendingGateway
    listing: Path

    def get(self, path: str, **headers: str) -> Answer:
        """What the recipient gets at an address."""
        return self.ask("GET", path, b"", **headers)

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        """The same for any method."""
        sent = {"authorization": f"Bearer {self.vending.token}"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        return self.vending.served.send(Request(method, path, list(sent.items()), body))

    def load(self, table: str, query: str = "", **headers: str) -> Answer:
        """A load with credentials, unless told otherwise."""
        delegation = {"x-iceberg-access-delegation": "vended-credentials", **headers}
        return self.get(f"{NAMESPACE}/tables/{table}{query}", **delegation)


@contextmanager
def iceberg_gateway(folder: Path) -> Iterator[IcebergGateway]:
    """Serve `TABLES`, one that its catalog has no more, and one that is shared by URLs alone."""
    lake, listing = folder / "lake", folder / "listing.json"
    listing.write_text(json.dumps({name: written(lake, name, **TABLES[name]) for name in TABLES}))
    modes = {"catalog": "lake", "access_modes": ["url", "dir"]}
    tables = dict.fromkeys([*TABLES, "gone"], modes) | {"by_url": {"catalog": "lake"}}
    section = {"type": "listed", "file": str(listing), "max_age": 0}
    with vending_gateway(
        folder, tables, catalogs={"lake": section}, plugins={"listed": PLUGIN}
    ) as vending:
        yield IcebergGateway(vending, listing)


def written(
    lake: Path,
    name: str,
    *,
    format: str,
    metadata: str | None = None,
    auxiliary: list[str] | None = None,
) -> dict[str, Any]:
    """Write a table's metadata; what its catalog says of it."""
    folder = lake / name / "metadata"
    folder.mkdir(parents=True)
    text = json.dumps(METADATA).encode()
    (folder / "v3.metadata.json").write_bytes(text)
    (folder / "v3.gz.metadata.json").write_bytes(gzip.compress(text))
    (folder / "broken.metadata.json").write_bytes(text[:-1])
    (folder / "empty.metadata.json").write_bytes(b"{}")
    return {
        "id": name,
        "format": format,
        "location": f"file://{lake}/{name}",
        "metadata_location": f"file://{folder}/{metadata}" if metadata else None,
        "auxiliary_locations": [f"file://{lake}/{place}" for place in auxiliary or []],
    }
