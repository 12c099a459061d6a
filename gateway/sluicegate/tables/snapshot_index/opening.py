"""Opens the folder that contains the indexes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import anyio
from obstore.store import LocalStore

from sluicegate.api.models import ObjectDirectory
from sluicegate.signing.keyring import KeyRing
from sluicegate.tables.snapshot_index.blocking_store import BlockingStore
from sluicegate.tables.snapshot_index.folder import IndexFolder

_LOCAL = "file"


async def open_folder(
    location: str, keys: KeyRing, open_location: Callable[[str], Awaitable[ObjectDirectory]]
) -> IndexFolder:
    """Open a folder of indexes. A local one is created."""
    parts = urlsplit(location)
    if parts.scheme == _LOCAL:
        path = Path(unquote(parts.path))
        # Only the gateway's user can read it: it says what is in the tables.
        await anyio.Path(path).mkdir(mode=0o700, parents=True, exist_ok=True)
        return IndexFolder(BlockingStore(LocalStore(str(path)), root=path), "", keys)
    directory = await open_location(location)
    return IndexFolder(BlockingStore(directory.store, on_loop=True), directory.prefix, keys)
