"""File ids, by which clients cache and find files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from sluicegate.protocols.common.column_values import texts


def file_ids(batch: pa.Table, hash_name: str, paths: Sequence[str] | None = None) -> list[str]:
    """Stable ids: a hash of the path in the log (Delta Sharing protocol, "File ID Hash Header").

    Args:
        batch: Rows of `FILE_SCHEMA` or `CHANGE_SCHEMA`.
        hash_name: `md5` or `sha256`.
        paths: The column `path`, if it has been read already.
    """
    digest: Callable[..., Any] = hashlib.md5 if hash_name == "md5" else hashlib.sha256
    paths, spelled = paths or texts(batch.column("path")), batch.column("spelled_path")
    if spelled.null_count < len(spelled):
        paths = [other or path for other, path in zip(texts(spelled), paths, strict=True)]
    return [digest(path.encode(), usedforsecurity=False).hexdigest() for path in paths]
