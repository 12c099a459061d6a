"""File ids, by which clients cache and find files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from sluicegate.protocols.columns import encoded_texts, texts


def file_ids(batch: pa.Table, hash_name: str) -> list[str]:
    """Stable ids: a hash of the path in the log (Delta Sharing protocol, "File ID Hash Header")."""
    digest: Callable[..., Any] = hashlib.md5 if hash_name == "md5" else hashlib.sha256
    paths, spelled = encoded_texts(batch.column("path")), batch.column("spelled_path")
    if spelled.null_count < len(spelled):
        others = [None if other is None else other.encode() for other in texts(spelled)]
        paths = [other or path for other, path in zip(others, paths, strict=True)]
    return [digest(path, usedforsecurity=False).hexdigest() for path in paths]
