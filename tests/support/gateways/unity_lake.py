"""A gateway in front of a stand-in for Unity Catalog, and tables whose commits the catalog ratifies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
from deltalake import write_deltalake
from support.clients.recipient import Recipient
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration

from sluicegate_testing.secrets import keep_secret
from sluicegate_testing.servers.unity_catalog.unity import UnityServer

SHARE, SCHEMA, TOKEN = "lake", "eu", "unity-service-token"
UUID = "016ae953-37a9-438e-8683-9a9a4a79a395"


@dataclass(frozen=True)
class UnityLake:
    """The gateway, a recipient of all its tables, and the catalog behind it."""

    gateway: RunningGateway
    recipient: Recipient
    unity: UnityServer

    def ask(
        self, method: str, path: str, capabilities: str | None = None, **options: Any
    ) -> httpx.Response:
        """Something of the share, as the protocol spells it."""
        token = json.loads(self.recipient.profile.read_text())["bearerToken"]
        url = f"{self.gateway.endpoint}/shares/{SHARE}/{path}"
        headers = {"Authorization": f"Bearer {token}"}
        if capabilities is not None:
            headers["delta-sharing-capabilities"] = capabilities
        return httpx.request(method, url, headers=headers, timeout=30, **options)

    def ids(self, table: str, **options: Any) -> list[int]:
        """The rows that the official client reads, by their column `id`."""
        return sorted(self.recipient.read(table, **options)["id"])


@contextmanager
def unity_lake(
    folder: Path,
    unity: UnityServer,
    storage: Mapping[str, Any],
    tables: Sequence[str],
    catalog: Mapping[str, Any] | None = None,
    **options: Any,
) -> Iterator[UnityLake]:
    """Share tables of the catalog `main`, until the block ends."""
    keep_secret(TOKEN)
    unity.state.tokens = {TOKEN}
    remembers = {"max_age": 0, "stale_while_revalidate": 0}
    section = {"type": "unity", "uri": unity.uri, "catalog": "main", "token": TOKEN, **remembers}
    section |= catalog or {}
    entries = {
        name.rpartition(".")[2]: {"catalog": "unity", "table": name, "history": True, **options}
        for name in tables
    }
    whole = {"from": {"catalog": "unity", "schema": SCHEMA}}
    write_configuration(
        folder,
        {"catalogs": {"unity": section}, "storage": [storage]},
        {
            "shares": {SHARE: {"schemas": {SCHEMA: {"tables": entries}, "whole": whole}}},
            "recipients": {"acme": {"shares": [SHARE]}},
        },
    )
    with running_gateway(folder) as gateway:
        recipient = Recipient(gateway.profile("acme"), SHARE, SCHEMA)
        yield UnityLake(gateway, recipient, unity)


def rows(*ids: int) -> pa.Table:
    """A table of one column."""
    return pa.table({"id": pa.array(ids, pa.int64())})


class ManagedTable:
    """A Delta table on disk whose later commits are staged until the catalog publishes them."""

    def __init__(self, folder: Path, commits: int, published: int) -> None:
        self._log = folder / "_delta_log"
        for number in range(commits):
            write_deltalake(folder, rows(number), mode="append")
        self._belong_to_the_catalog()
        (self._log / "_staged_commits").mkdir()
        for number in range(published, commits):
            self._file(number).rename(self._staged(number))

    def commit(self, version: int) -> dict[str, Any]:
        """A staged commit, as the catalog describes it."""
        path = self._staged(version)
        modified = int(path.stat().st_mtime * 1000)
        return {
            "version": version,
            "timestamp": modified,
            "file-name": path.name,
            "file-size": path.stat().st_size,
            "file-modification-timestamp": modified,
        }

    def publish(self, version: int) -> None:
        """Copy a staged commit to its place in the log, as backfilling does."""
        self._file(version).write_bytes(self._staged(version).read_bytes())

    def _belong_to_the_catalog(self) -> None:
        features = ["catalogManaged", "deletionVectors", "v2Checkpoint", "vacuumProtocolCheck"]
        protocol = {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": features,
            "writerFeatures": features,
        }
        lines = [json.loads(line) for line in self._file(0).read_text().splitlines()]
        changed = [{"protocol": protocol} if "protocol" in line else line for line in lines]
        self._file(0).write_text("\n".join(map(json.dumps, changed)))

    def _file(self, version: int) -> Path:
        return self._log / f"{version:020}.json"

    def _staged(self, version: int) -> Path:
        return self._log / "_staged_commits" / f"{version:020}.{UUID}.json"
