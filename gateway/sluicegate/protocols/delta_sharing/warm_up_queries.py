"""Executes queries of each kind for a table in memory, by the steps that serve recipients."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from secrets import token_bytes
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from obstore.store import MemoryStore

from sluicegate._util.clock import epoch_ms
from sluicegate._util.memory import trim_heap
from sluicegate.api import (
    Catalog,
    CatalogConfig,
    CatalogTable,
    CatalogType,
    Event,
    FormatType,
    ObjectDirectory,
    PluginContext,
    Presigned,
    Principal,
    SharedTable,
    Storage,
    StorageConfig,
    StorageType,
    TableFormat,
    TemporaryCredentials,
)
from sluicegate.plugins import Instances, Registry
from sluicegate.plugins.configured import ConfiguredCatalog, ConfiguredInstances, ConfiguredStorage
from sluicegate.plugins.context import NoLinks
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.delta_sharing import negotiation
from sluicegate.protocols.delta_sharing.changes.request import ChangesRequest
from sluicegate.protocols.delta_sharing.pipeline import QueryPipeline
from sluicegate.protocols.delta_sharing.request import QueryRequest, ResponseOptions, TimeTravel
from sluicegate.protocols.delta_sharing.response import SharingResponse
from sluicegate.protocols.parts import GatewayParts
from sluicegate.signing.keyring import KeyRing
from sluicegate.tables.delta import DeltaFormat
from sluicegate.tables.reading.reader import TableReader
from sluicegate.telemetry import silence
from sluicegate.vending import Ledger, Vending
from sluicegate.vending.issue import Vendors

FOLDER = "table"
CHECKPOINT, LATEST = 1, 2
_MAP = pa.map_(pa.string(), pa.string())
_PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 4}
_COLUMNS = {"id": "long", "name": "string", "amount": "double", "at": "timestamp", "day": "date"}
_SCHEMA = pa.schema(
    {
        "protocol": pa.struct(dict.fromkeys(_PROTOCOL, pa.int32())),
        "metaData": pa.struct(
            {
                "id": pa.string(),
                "format": pa.struct({"provider": pa.string(), "options": _MAP}),
                "schemaString": pa.string(),
                "partitionColumns": pa.list_(pa.string()),
                "configuration": _MAP,
                "createdTime": pa.int64(),
            }
        ),
        "add": pa.struct(
            {
                "path": pa.string(),
                "partitionValues": _MAP,
                "size": pa.int64(),
                "modificationTime": pa.int64(),
                "dataChange": pa.bool_(),
                "stats": pa.string(),
            }
        ),
    }
)


def warm_up_store() -> MemoryStore:
    """A store that contains the table's log in `FOLDER`."""
    store = MemoryStore()
    for name, content in _log().items():
        store.put(f"{FOLDER}/_delta_log/{name}", content)
    return store


def _log() -> Mapping[str, bytes]:
    removed = {"path": _path(0), "deletionTimestamp": 1, "dataChange": True, "size": 1}
    return {
        f"{CHECKPOINT:020}.checkpoint.parquet": _checkpoint(),
        f"{CHECKPOINT:020}.json": _lines({"commitInfo": {"operation": "WRITE", "timestamp": 1}}),
        "_last_checkpoint": orjson.dumps({"version": CHECKPOINT, "size": 4}),
        f"{LATEST:020}.json": _lines(
            {"commitInfo": {"operation": "MERGE", "timestamp": 2}},
            {"add": _add(2)},
            {"remove": removed},
        ),
    }


def _checkpoint() -> bytes:
    rows: list[dict[str, Any]] = [
        {"protocol": _PROTOCOL},
        {"metaData": _metadata()},
        *({"add": {**_add(row), "partitionValues": [("day", _day(row))]}} for row in range(2)),
    ]
    table = pa.Table.from_pylist([{**dict.fromkeys(_SCHEMA.names), **row} for row in rows], _SCHEMA)
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def _metadata() -> dict[str, Any]:
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in _COLUMNS.items()
    ]
    return {
        "id": "00000000-0000-0000-0000-000000000000",
        "format": {"provider": "parquet", "options": []},
        "schemaString": orjson.dumps({"type": "struct", "fields": fields}).decode(),
        "partitionColumns": ["day"],
        "configuration": [("delta.enableChangeDataFeed", "true")],
        "createdTime": 1,
    }


def _add(row: int) -> dict[str, Any]:
    bounds = {"id": row, "name": f"n{row}", "amount": row / 2, "at": f"{_day(row)}T00:00:00.000Z"}
    stats = {
        "numRecords": 1,
        "minValues": bounds,
        "maxValues": bounds,
        "nullCount": dict.fromkeys(bounds, 0),
    }
    return {
        "path": _path(row),
        "partitionValues": {"day": _day(row)},
        "size": 1,
        "modificationTime": 1,
        "dataChange": True,
        "stats": orjson.dumps(stats).decode(),
    }


def _path(row: int) -> str:
    return f"day={_day(row)}/part-{row}.parquet"


def _day(row: int) -> str:
    return f"2026-01-0{row + 1}"


def _lines(*actions: Mapping[str, Any]) -> bytes:
    return b"".join(orjson.dumps(action) + b"\n" for action in actions)


NAME = "warm-up"
_PREFIX = f"memory://{NAME}/"


def warm_up_instances(store: MemoryStore, delta: TableFormat) -> Instances:
    """Instances without plugins: one table in a store."""

    def storage(config: StorageConfig, context: PluginContext) -> Storage:
        return _MemoryStorage(store)

    configured = ConfiguredInstances(
        catalogs=(
            ConfiguredCatalog(NAME, CatalogType(NAME, CatalogConfig, _OneTable), CatalogConfig()),
        ),
        storage=(
            ConfiguredStorage(
                NAME,
                StorageType(NAME, ("memory",), StorageConfig, storage),
                StorageConfig(prefix=_PREFIX),
            ),
        ),
        authenticators=(),
    )
    formats = [FormatType("delta", lambda: delta)]
    return Instances(Registry([]), configured, links=NoLinks, formats=formats)


class _OneTable(Catalog):
    def __init__(self, config: CatalogConfig, context: PluginContext) -> None:
        self._table = CatalogTable(NAME, "delta", f"{_PREFIX}{FOLDER}")

    async def list_schemas(self) -> list[str]:
        return [NAME]

    async def list_tables(self, schema: str) -> list[str]:
        return [NAME]

    def identifier(self, schema: str, table: str) -> str:
        return table

    async def load_table(self, identifier: str) -> CatalogTable:
        return self._table


class _MemoryStorage(Storage):
    """Returns locations as URLs."""

    def __init__(self, store: MemoryStore) -> None:
        self._directory = ObjectDirectory(store, FOLDER)

    @property
    def prefix(self) -> str:
        return _PREFIX

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        return Presigned(list(locations), epoch_ms() + expires_in * 1000)

    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        return self._directory


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


async def execute_queries(parts: GatewayParts) -> None:
    """Execute queries as recipients send them. Nothing is recorded, kept, or sent over a network."""
    settings, grants = parts.settings, parts.grants
    instances = warm_up_instances(warm_up_store(), DeltaFormat())
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
    return ResponseOptions.parse({negotiation.HEADER: header})


def _ignore(event: Event) -> None:
    """Plugins meter what recipients receive."""
