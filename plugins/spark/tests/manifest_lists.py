"""Manifest lists and manifests in a store, as far as a purge reads them."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import fastavro

from sluicegate_testing.servers.seaweedfs import SeaweedFS

_LIST: Mapping[str, Any] = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        {"name": "manifest_path", "type": "string", "field-id": 500},
        {"name": "added_snapshot_id", "type": ["null", "long"], "field-id": 503},
    ],
}
_MANIFEST: Mapping[str, Any] = {
    "type": "record",
    "name": "manifest_entry",
    "fields": [
        {"name": "status", "type": "int", "field-id": 0},
        {
            "name": "data_file",
            "field-id": 2,
            "type": {
                "type": "record",
                "name": "r2",
                "fields": [{"name": "file_path", "type": "string", "field-id": 100}],
            },
        },
    ],
}


def encoded_list(paths: Sequence[str], codec: str = "deflate") -> bytes:
    """Return the content of a manifest list."""
    return _encoded(_LIST, [{"manifest_path": each, "added_snapshot_id": 1} for each in paths], codec)


def write_list(server: SeaweedFS, key: str, paths: Sequence[str], codec: str = "deflate") -> str:
    """Write a manifest list, and return its location."""
    server.put(key, encoded_list(paths, codec))
    return f"s3://{server.bucket}/{key}"


def write_manifest(server: SeaweedFS, key: str, paths: Sequence[str]) -> str:
    """Write a manifest of live files, and return its location."""
    rows = [{"status": 1, "data_file": {"file_path": each}} for each in paths]
    server.put(key, _encoded(_MANIFEST, rows, "deflate"))
    return f"s3://{server.bucket}/{key}"


def _encoded(schema: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], codec: str) -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, dict(schema), rows, codec=codec)
    return out.getvalue()
