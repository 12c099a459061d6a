"""A gateway with a table of three files, and a recipient for each set of limits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import pyarrow as pa
from deltalake import write_deltalake
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration

from sluicegate.access.recipients.service import Recipients
from sluicegate.database import Store
from sluicegate_testing.secrets import keep_secret

SHARE, SCHEMA, TABLE = "lake", "all", "orders"
QUERY = f"/delta-sharing/shares/{SHARE}/schemas/{SCHEMA}/tables/{TABLE}/query"
FILES = 3
_KEY = "k" * 32


@dataclass(frozen=True)
class LimitedLake:
    """A gateway.

    Attributes:
        sizes: Bytes of the table's files.
    """

    gateway: RunningGateway
    clients: Mapping[str, httpx.Client]
    tokens: Mapping[str, str]
    sizes: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Bytes of all files."""
        return sum(self.sizes)


def write_lake(
    folder: Path,
    recipients: Mapping[str, Mapping[str, Any]],
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[int, ...]:
    """Write a table and the configuration, and return the sizes of the table's files."""
    root = folder / "lake" / TABLE
    for number in range(FILES):
        rows = pa.table({"id": list(range(number + 1))})
        options = {"delta.enableChangeDataFeed": "true"}
        write_deltalake(root, rows, mode="append", configuration=options)
    source = {"catalog": "raw", "table": f"file://{root}", "history": True, "change_feed": True}
    write_configuration(
        folder,
        {
            "catalogs": {"raw": {"type": "paths"}},
            "storage": [{"type": "file", "prefix": f"file://{folder}/lake/"}],
            "signing_key": _KEY,
            **settings,
        },
        {
            "shares": {SHARE: {"schemas": {SCHEMA: {"tables": {TABLE: source}}}}},
            "recipients": {
                name: {"shares": [SHARE], "limits": limits} for name, limits in recipients.items()
            },
        },
    )
    return tuple(file.stat().st_size for file in root.glob("*.parquet"))


@contextmanager
def limited_lake(
    folder: Path,
    recipients: Mapping[str, Mapping[str, Any]],
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> Iterator[LimitedLake]:
    """Serve the lake until the block ends; see `write_lake`."""
    sizes = write_lake(folder, recipients, settings)
    tokens = new_tokens(f"sqlite:///{folder}/sluicegate.db", recipients)
    with running_gateway(folder) as gateway, ExitStack() as stack:
        clients = {
            name: stack.enter_context(
                httpx.Client(
                    base_url=gateway.address, headers={"Authorization": f"Bearer {token}"}, timeout=60
                )
            )
            for name, token in tokens.items()
        }
        yield LimitedLake(gateway, clients, tokens, sizes)
        assert "Traceback" not in gateway.log


def new_tokens(database: str, recipients: Iterable[str]) -> dict[str, str]:
    """Bearer tokens of recipients, by their names."""
    return asyncio.run(_tokens(database, recipients))


async def _tokens(database: str, recipients: Iterable[str]) -> dict[str, str]:
    store = await Store.open(database)
    try:
        service = Recipients(store, token_lifetime=3600, rotation_grace=0)
        tokens = {name: (await service.rotate(name)).secret for name in recipients}
    finally:
        await store.aclose()
    keep_secret(*tokens.values())
    return tokens
