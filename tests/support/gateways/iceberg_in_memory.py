"""A share with Iceberg tables in memory, for tests of the Iceberg catalog without a gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from support.gateways.in_memory import InMemory, ListedCatalog
from support.gateways.memory_grants import MemoryGrants
from support.gateways.memory_instances import LAKE

from sluicegate.api import CatalogTable, Policy, Principal, Schema, Share, SharedTable
from sluicegate.protocols.common.iceberg_eligibility import IcebergOffers
from sluicegate.protocols.iceberg_rest.errors import NoSuchTable
from sluicegate.protocols.iceberg_rest.load_table import LoadRequest, TableLoader, VendedTableLoader
from sluicegate.protocols.iceberg_rest.metadata import MetadataFiles
from sluicegate.tables.delta import DeltaFormat

METADATA: Mapping[str, Any] = {
    "format-version": 2,
    "current-snapshot-id": 3,
    "snapshots": [{"snapshot-id": number} for number in (1, 2, 3)],
    "refs": {"old": {"snapshot-id": 1, "type": "tag"}},
}
SHARE = Share("s1", "sales")
SCHEMA = Schema("e", SHARE, "eu")


def shared(name: str, **options: Any) -> SharedTable:
    """A table of the share, with both access modes."""
    known = {"access_modes": ("url", "dir"), **options}
    return SharedTable(f"id of {name}", "sales", "s1", "eu", name, "lake", f"eu.{name}", **known)


def located(name: str, **options: Any) -> CatalogTable:
    """A table in its catalog, with a metadata file."""
    root = f"{LAKE}/{name}"
    known = {"metadata_location": f"{root}/metadata/v1.json", **options}
    return CatalogTable(f"uuid of {name}", "iceberg", root, **known)


class StandInFiles:
    """Answers requests for tables that are read file by file, without reading them."""

    def __init__(self) -> None:
        self.obstacles: dict[str, str] = {}
        self.asked: list[tuple[str, str]] = []

    async def get(self) -> StandInFiles:
        """As a value that is created when it is needed."""
        return self

    async def load(
        self,
        principal: Principal,
        shared: SharedTable,
        source: CatalogTable,
        request: LoadRequest,
    ) -> dict[str, Any]:
        """A table."""
        await self.check(principal, shared, source)
        snapshots = "latest" if request.referenced_only else "all"
        return {"metadata": {"format-version": 2}, "config": {"by": "file", "snapshots": snapshots}}

    async def credentials(self, principal: Principal, shared: SharedTable) -> dict[str, Any]:
        """Keys."""
        return {"storage-credentials": [{"prefix": shared.name, "config": {}}]}

    async def serve_object(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Nothing."""
        await Response()(scope, receive, send)

    async def check(self, principal: Principal, shared: SharedTable, source: CatalogTable) -> None:
        """Whether it can be expressed."""
        self.asked.append(("check", shared.name))
        if obstacle := self.obstacles.get(shared.name):
            raise NoSuchTable(obstacle)

    async def plan(
        self, principal: Principal, shared: SharedTable, body: bytes, headers: Mapping[str, str]
    ) -> AsyncIterator[bytes]:
        """The request, and what the client says it is."""
        return _parts(self._said("plan", shared, body.decode(), headers.get("user-agent")))

    async def planned(
        self, principal: Principal, shared: SharedTable, plan_id: str
    ) -> AsyncIterator[bytes]:
        """The id."""
        return _parts(self._said("planned", shared, plan_id))

    async def cancel(self, principal: Principal, shared: SharedTable, plan_id: str) -> None:
        """Nothing."""
        self._said("cancel", shared, plan_id)

    async def tasks(
        self, principal: Principal, shared: SharedTable, body: bytes
    ) -> AsyncIterator[bytes]:
        """The request."""
        return _parts(self._said("tasks", shared, body.decode()))

    async def fetch(self, request: Request) -> Response:
        """The link."""
        return Response(request.path_params["link"])

    async def sign(
        self, principal: Principal, shared: SharedTable, body: Mapping[str, Any]
    ) -> Response:
        """The request."""
        return Response(self._said("sign", shared, body))

    def _said(self, method: str, shared: SharedTable, *content: Any) -> bytes:
        self.asked.append((method, shared.name))
        return orjson.dumps({"got": content})


async def _parts(content: bytes) -> AsyncIterator[bytes]:
    yield content[:1]
    yield content[1:]


@dataclass
class IcebergInMemory:
    """The share `sales` offers `orders` and `visits` with credentials, `by_url` and `plain` by file.

    `by_dir` and `gone` are not in the catalog.
    """

    schemas: list[Schema] = field(default_factory=lambda: [SCHEMA])
    policies: tuple[Policy, ...] = ()

    def __post_init__(self) -> None:
        tables = [located("orders"), located("visits"), located("by_url")]
        self.tables = {table.location.rpartition("/")[2]: table for table in tables}
        self.tables["plain"] = located("plain", metadata_location=None)
        self.catalog = ListedCatalog({"eu": self.tables})
        names = ("gone", "orders", "plain", "visits")
        by_url, by_dir = (shared(f"by_{mode}", access_modes=(mode,)) for mode in ("url", "dir"))
        declared = [by_dir, by_url, *map(shared, names)]
        self.grants = MemoryGrants([SHARE], self.schemas, {"e": declared})
        formats = {"iceberg": DeltaFormat(0)}  # nothing is read
        self.made = InMemory(
            {"lake": self.catalog}, self.grants, formats=formats, policies=self.policies
        )
        self.offers = IcebergOffers(self.made.instances)
        self.metadata = MetadataFiles(self.made.resolver, self.made.instances)
        self.vended = VendedTableLoader(
            self.made.resolver, self.offers, self.metadata, self.made.vending
        )
        self.files = StandInFiles()
        self.loader = TableLoader(self.made.resolver, self.offers, self.vended, self.files.get)

    async def put(self, name: str, content: Any = METADATA, file: str = "v1.json") -> None:
        """Write a metadata file: bytes, or a value as JSON."""
        written = content if isinstance(content, bytes) else orjson.dumps(content)
        await self.made.storage.put(f"{LAKE}/{name}/metadata/{file}", written)
