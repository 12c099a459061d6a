"""Queries through a response cache, around a gateway in memory with a clock that tests set."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from support.gateways.memory_gateway import KEYS, MemoryGateway
from support.gateways.memory_grants import ACME

from sluicegate.api import Principal, SharedTable
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate.protocols.delta_sharing.negotiation import parse
from sluicegate.protocols.delta_sharing.query.execute import TableQueries
from sluicegate.protocols.delta_sharing.query.response_cache import ResponseCache
from sluicegate.protocols.delta_sharing.query.tokens import Continuations
from sluicegate.protocols.delta_sharing.request import QueryRequest, ResponseOptions, TimeTravel
from sluicegate.protocols.delta_sharing.response import SharingResponse
from sluicegate.protocols.delta_sharing.view import Viewer
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.tables.reading.encoded_blocks import EncodedBlocks

NOW = 1_800_000_000_000
ALL = QueryRequest(TimeTravel())
BUDGET = 4_000_000


@dataclass
class CachedQueries:
    """Sends queries for one table.

    Attributes:
        now: Epoch milliseconds, for the cache.
    """

    gateway: MemoryGateway
    shared: SharedTable
    share: bool = False
    budget: int = BUDGET
    now: int = NOW
    encoded: EncodedBlocks = field(default_factory=lambda: EncodedBlocks(BUDGET))
    cache: ResponseCache = field(init=False)
    queries: TableQueries = field(init=False)

    def __post_init__(self) -> None:
        gateway = self.gateway
        self.cache = ResponseCache(self.budget, share=self.share, now=lambda: self.now)
        viewer = Viewer(gateway.resolver, gateway.reader, DirectoryAccess(gateway.instances))
        continuations = Continuations(TokenSigner(KEYS, 60), TokenSigner(KEYS.derive("refresh"), 60))
        self.queries = TableQueries(viewer, gateway.signer, continuations, self.cache, self.encoded)

    async def respond(
        self,
        request: QueryRequest = ALL,
        principal: Principal = ACME,
        *,
        header: str | None = None,
        coding: str | None = None,
        file_ids: str | None = None,
        shared: SharedTable | None = None,
    ) -> SharingResponse:
        """The response to a query, before its lines are read."""
        form = ResponseOptions(parse(header), file_ids, content_coding=coding)
        return await self.queries.query(principal, shared or self.shared, request, form)

    async def body(
        self, request: QueryRequest = ALL, principal: Principal = ACME, **options: Any
    ) -> bytes:
        """The complete body of the response to a query."""
        response = await self.respond(request, principal, **options)
        return b"".join([part async for part in response.lines])

    @property
    def signed(self) -> int:
        """How often the storage has signed."""
        return len(self.gateway.storage.signed)


def lines(body: bytes) -> list[dict[str, Any]]:
    """The lines of a body."""
    return [json.loads(text) for text in body.splitlines()]


def end(body: bytes) -> dict[str, Any]:
    """The contents of the last line."""
    action: dict[str, Any] = lines(body)[-1]["endStreamAction"]
    return action


def with_properties(principal: Principal, **properties: str) -> Principal:
    """The recipient with other properties."""
    return replace(principal, properties=properties)
