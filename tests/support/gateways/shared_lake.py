"""A gateway whose tables are written while it runs: each test takes a fresh one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
from support.clients.recipient import Recipient
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration
from support.tables.deltalog import DeltaFolder

SHARE = "lake"
ACME, RIVAL = "acme", "rival"
# The same tables, shared in different ways: a schema for each.
SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "full": {"history": True, "change_feed": True},
    "history": {"history": True},
    "plain": {},
    "recent": {"history": True, "change_feed": True, "start_version": 2},
    "german": {"history": True, "change_feed": True, "partition_filter": "country = 'DE'"},
    "mine": {"history": True, "change_feed": True, "partition_filter": "country = recipient.country"},
    "directory": {"history": True, "change_feed": True, "access_modes": ["dir"]},
}


@dataclass(frozen=True)
class LakeTable:
    """One table: where it is written, and its recipients' addresses."""

    name: str
    root: Path

    @property
    def folder(self) -> DeltaFolder:
        """The table, for logs that are written by hand."""
        return DeltaFolder(self.root)

    def path(self, schema: str = "full") -> str:
        """The table below the endpoint."""
        return f"/shares/{SHARE}/schemas/{schema}/tables/{self.name}"


@dataclass
class SharedLake:
    """The gateway and its tables."""

    gateway: RunningGateway
    clients: dict[str, httpx.Client]
    profiles: dict[str, Path]
    _names: Iterator[str] = field(repr=False)
    _lake: Path = field(repr=False)

    def table(self) -> LakeTable:
        """A name that nothing was written under yet."""
        name = next(self._names)
        return LakeTable(name, self._lake / name)

    def client(self, recipient: str = ACME) -> httpx.Client:
        """An HTTP client that asks as a recipient, with addresses below the endpoint."""
        return self.clients[recipient]

    def recipient(self, schema: str = "full", name: str = ACME) -> Recipient:
        """The official client."""
        return Recipient(self.profiles[name], SHARE, schema)


@contextmanager
def shared_lake(
    folder: Path, *, tables: int = 240, settings: Mapping[str, Any] = MappingProxyType({})
) -> Iterator[SharedLake]:
    """Serve a lake until the block ends."""
    lake = folder / "lake"
    lake.mkdir()
    names = [f"t{number}" for number in range(tables)]
    schemas = {
        schema: {
            "tables": {
                name: {"catalog": "raw", "table": f"file://{lake}/{name}", **options} for name in names
            }
        }
        for schema, options in SCHEMAS.items()
    }
    write_configuration(
        folder,
        {
            "catalogs": {"raw": {"type": "paths"}},
            "storage": [{"type": "file", "prefix": f"file://{lake}/"}],
            **settings,
        },
        {
            "shares": {SHARE: {"schemas": schemas}},
            "recipients": {
                ACME: {"shares": [SHARE], "properties": {"country": "FR"}},
                RIVAL: {"shares": [SHARE]},
            },
        },
    )
    with running_gateway(folder) as gateway:
        profiles = {name: gateway.profile(name) for name in (ACME, RIVAL)}
        clients = {name: asking(profile) for name, profile in profiles.items()}
        try:
            yield SharedLake(gateway, clients, profiles, iter(names), lake)
        finally:
            for client in clients.values():
                client.close()
        assert "Traceback" not in gateway.log


def asking(profile: Path) -> httpx.Client:
    """An HTTP client that asks by a profile, with addresses below its endpoint."""
    told = json.loads(profile.read_text())
    headers = {"Authorization": f"Bearer {told['bearerToken']}"}
    return httpx.Client(base_url=told["endpoint"], headers=headers, timeout=60)
