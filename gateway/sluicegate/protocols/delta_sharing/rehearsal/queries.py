"""Executes requests of each kind for the table in memory, by the steps that serve recipients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from secrets import token_bytes

import orjson

from sluicegate._util.memory.heap import trim_heap
from sluicegate.api import Event, Principal, SharedTable
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.delta_sharing import capabilities
from sluicegate.protocols.delta_sharing.changes.request import ChangesRequest
from sluicegate.protocols.delta_sharing.pipeline import QueryPipeline
from sluicegate.protocols.delta_sharing.rehearsal.instances import NAME, rehearsal_instances
from sluicegate.protocols.delta_sharing.rehearsal.table import CHECKPOINT, rehearsal_store
from sluicegate.protocols.delta_sharing.request import QueryRequest, ResponseOptions, TimeTravel
from sluicegate.protocols.delta_sharing.response import SharingResponse
from sluicegate.protocols.parts import GatewayParts
from sluicegate.signing.keyring import KeyRing
from sluicegate.tables.delta import DeltaFormat
from sluicegate.tables.reading.reader import TableReader
from sluicegate.telemetry import silence
from sluicegate.vending import Ledger, Vending
from sluicegate.vending.select import Vendors

_CACHE_BYTES = 1_000_000
_PREDICATE = {
    "op": "greaterThanOrEqual",
    "children": [
        {"op": "column", "name": "id", "valueType": "long"},
        {"op": "literal", "value": "0", "valueType": "long"},
    ],
}
_BODIES: tuple[Mapping[str, object], ...] = (
    {},
    {"predicateHints": ["day >= '2026-01-01'"], "limitHint": 10, "includeRefreshToken": True},
    {"jsonPredicateHints": orjson.dumps(_PREDICATE).decode(), "maxFiles": 1},
    {"version": CHECKPOINT},
)
_FORMATS = ("parquet", "delta")


async def rehearse(parts: GatewayParts) -> None:
    """Execute queries as recipients send them. Nothing is recorded, kept, or sent over a network."""
    settings, grants = parts.settings, parts.grants
    instances = rehearsal_instances(rehearsal_store(), DeltaFormat())
    vending = Vending(
        Vendors(instances),
        grants,
        Ledger(parts.store, retention=0),  # what it notes is never written
        _ignore,
        lifetime=settings.vending.lifetime,
        assumed_lifetime=settings.vending.assumed_lifetime,
    )
    reader = TableReader(instances.formats, _CACHE_BYTES)
    pipeline = QueryPipeline.build(
        replace(
            parts,
            keys=KeyRing((token_bytes(32),)),  # no token of these queries is ever valid
            instances=instances,
            reader=reader,
            vending=vending,
            resolver=Resolver(grants, instances, vending),
            indexes=None,
        )
    )
    try:
        with silence():
            async for response in _responses(pipeline):
                async for _ in response.lines:
                    pass
    finally:
        await reader.aclose()
        await instances.aclose()
        trim_heap()


async def _responses(pipeline: QueryPipeline) -> AsyncIterator[SharingResponse]:
    principal = Principal(NAME, NAME, NAME)
    table = SharedTable(NAME, NAME, NAME, NAME, NAME, NAME, NAME, history=True, change_feed=True)
    feed = ChangesRequest.of_feed({"startingVersion": str(CHECKPOINT + 1)})
    for form in (_response_options(name) for name in _FORMATS):
        yield await pipeline.queries.metadata(principal, table, TimeTravel(), form)
        for body in _BODIES:
            yield await pipeline.queries.query(principal, table, QueryRequest.parse(body), form)
        yield await pipeline.changes.answer(principal, table, feed, form)


def _response_options(response_format: str) -> ResponseOptions:
    header = f"responseformat={response_format};includeendstreamaction=true"
    return ResponseOptions.parse({capabilities.HEADER: header})


def _ignore(event: Event) -> None:
    """Plugins meter what recipients receive."""
