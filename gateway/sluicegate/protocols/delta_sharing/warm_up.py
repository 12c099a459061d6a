"""Loads what the first query needs, before the gateway reports that it is ready (docs/adr/0059)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import Any

import anyio.to_thread

from sluicegate._util.lazy import Lazy
from sluicegate._util.memory import paused_collection
from sluicegate.access.authentication.assembly import Access
from sluicegate.api.errors import ConfigurationError, SluicegateError
from sluicegate.plugins.failures import failure_reason
from sluicegate.plugins.preloading import preload
from sluicegate.protocols.parts import GatewayParts

_PACKAGE = "sluicegate.protocols.delta_sharing"


async def warm_up(
    parts: GatewayParts, access: Access, pipelines: Sequence[Lazy[Any]], *, is_first: bool = True
) -> None:
    """Load the pipelines and what plugins need, and execute queries of a table in memory.

    Imports run in a thread, so that the event loop continues to serve requests. What a gateway creates
    that is not the first of its process is garbage when it closes, so the collector has to see it.
    """
    with paused_collection() if is_first else nullcontext():
        with _failures("load what queries need"):
            for pipeline in pipelines:
                await pipeline.get()
            await access.preload()
            queries = await anyio.to_thread.run_sync(import_module, f"{_PACKAGE}.warm_up_queries")
        await anyio.to_thread.run_sync(preload, parts.instances)
        with _failures("execute queries"):
            await parts.grants.preload()
            await queries.execute_queries(parts)


@contextmanager
def _failures(purpose: str) -> Iterator[None]:
    try:
        yield
    except SluicegateError as error:
        message = f"the gateway cannot {purpose}: {error.message}"
        raise ConfigurationError(message, detail=error.detail) from error
    except Exception as error:
        raise ConfigurationError(f"the gateway cannot {purpose}: {failure_reason(error)}") from error
