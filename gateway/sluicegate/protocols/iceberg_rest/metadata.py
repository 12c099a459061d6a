"""Table metadata: read from the location in the catalog, and returned unchanged."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Hashable
from typing import Any

import anyio
import orjson

from sluicegate._util.lru import LRU
from sluicegate.api import CatalogTable, ObjectMissing, Principal, SharedTable, TableUnreadable
from sluicegate.plugins import Instances
from sluicegate.protocols.common.resolver import OpenTable, Resolver
from sluicegate.tables.reading.store_errors import store_errors
from sluicegate.telemetry import span

_KEPT_BYTES = 32_000_000
_LARGEST_BYTES = 100_000_000
_GZIP_MAGIC = b"\x1f\x8b"


class MetadataFiles:
    """Reads and caches metadata files. A file never changes; an updated table has a new file."""

    def __init__(self, resolver: Resolver, instances: Instances) -> None:
        self._resolver = resolver
        self._instances = instances
        self._kept: LRU[Hashable, bytes] = LRU(_KEPT_BYTES, len)

    async def read(
        self, principal: Principal, shared: SharedTable, source: CatalogTable, location: str
    ) -> bytes:
        """The JSON object of a metadata file in the table's root."""
        key = shared.catalog, source.id, location, source.metadata_tag
        kept = self._kept.get(key)
        if kept is None:
            opened = await self._resolver.open_located(principal, shared, source)
            kept = await self._fetch(opened, location)
            self._kept.put(key, kept)
        return kept

    async def _fetch(self, table: OpenTable, location: str) -> bytes:
        canonical = self._instances.canonical
        root = canonical(table.source.location).rstrip("/")
        name = canonical(location).removeprefix(f"{root}/")
        try:
            with span("store.get"), store_errors(name, "metadata"):
                found = await table.directory.store.get_async(table.directory.key(name))
                if found.meta["size"] > _LARGEST_BYTES:
                    raise _unreadable(location, f"{found.meta['size']} bytes")
                content = bytes(await found.bytes_async())
        except ObjectMissing as error:
            raise TableUnreadable(error.message, detail=error.detail) from error
        return await anyio.to_thread.run_sync(_json_of, location, content)


def of_references(metadata: bytes) -> bytes:
    """The metadata with only the snapshots that a branch or tag references ("snapshots=refs")."""
    table: dict[str, Any] = orjson.loads(metadata)
    named = {reference["snapshot-id"] for reference in (table.get("refs") or {}).values()}
    named.add(table.get("current-snapshot-id"))
    snapshots = table.get("snapshots") or ()
    table["snapshots"] = [each for each in snapshots if each["snapshot-id"] in named]
    return orjson.dumps(table)


def _json_of(location: str, content: bytes) -> bytes:
    text = _uncompressed(location, content)
    try:
        metadata = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _unreadable(location, str(error)) from None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("format-version"), int):
        raise _unreadable(location, "there is no format-version")
    return text


def _uncompressed(location: str, content: bytes) -> bytes:
    if not content.startswith(_GZIP_MAGIC):
        return content
    try:
        with gzip.open(io.BytesIO(content)) as stream:
            text = stream.read(_LARGEST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(location, str(error)) from None
    if len(text) > _LARGEST_BYTES:
        raise _unreadable(location, f"more than {_LARGEST_BYTES} bytes")
    return text


def _unreadable(location: str, reason: str) -> TableUnreadable:
    message = "the table's metadata file cannot be read; the provider must repair the table"
    return TableUnreadable(message, detail=f"{location}: {reason}")
