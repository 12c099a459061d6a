"""Loads what the first query needs, before the gateway reports that it is ready (docs/adr/0043)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import Any

import anyio.to_thread

from sluicegate._util.lazy import Lazy
from sluicegate._util.memory.garbage_collection import paused_collection
from sluicegate.access.authentication.assembly import Access
from sluicegate.access.grants import Grants
from sluicegate.api.errors import ConfigurationError, SluicegateError
from sluicegate.config import Settings
from sluicegate.database import Store
from sluicegate.plugins import Instances
from sluicegate.plugins.failures import failure_reason
from sluicegate.plugins.preloading import preload

_PACKAGE = "sluicegate.protocols.delta_sharing"


async def warm_up(
    settings: Settings,
    *,
    pipelines: Sequence[Lazy[Any]],
    access: Access,
    instances: Instances,
    grants: Grants,
    store: Store,
    is_first: bool = True,
) -> None:
    """Load the pipeline and what plugins need, and execute queries of a table in memory.

    Imports run in a thread, so that the event loop continues to serve requests.

    Args:
        settings: The gateway's settings.
        pipelines: Execute requests about tables, for each protocol.
        access: Its verifiers of JWTs are loaded.
        instances: The configured instances, whose `preload` is called.
        grants: The recipients' grants.
        store: The database.
        is_first: Whether the process has loaded nothing yet. What a later gateway creates is garbage
            when that gateway closes, so the garbage collector has to see it.

    Raises:
        ConfigurationError: Something can't be loaded, or a query fails. The message names it.
    """
    with paused_collection() if is_first else nullcontext():
        with _failures("load what queries need"):
            for pipeline in pipelines:
                await pipeline.get()
            await access.preload()
            rehearsal = await anyio.to_thread.run_sync(import_module, f"{_PACKAGE}.rehearsal.queries")
        await anyio.to_thread.run_sync(preload, instances)
        with _failures("execute queries"):
            await grants.preload()
            await rehearsal.rehearse(settings, grants, store)


@contextmanager
def _failures(purpose: str) -> Iterator[None]:
    try:
        yield
    except SluicegateError as error:
        message = f"the gateway cannot {purpose}: {error.message}"
        raise ConfigurationError(message, detail=error.detail) from error
    except Exception as error:
        raise ConfigurationError(f"the gateway cannot {purpose}: {failure_reason(error)}") from error
