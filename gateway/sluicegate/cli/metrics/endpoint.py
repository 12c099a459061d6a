"""The listener for Prometheus, which has its own port."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate.http.limits import HttpLimits
from sluicegate.http.serving import bind, serve_app

if TYPE_CHECKING:
    from prometheus_client import Metric

log = logging.getLogger(__name__)

Collect = Callable[[], Awaitable[Sequence["Metric"]]]

PATH = "/metrics"
# A few Prometheus servers, and people who look.
_LIMITS = HttpLimits(max_head=16_384, max_connections=64, max_connections_per_address=32)
_GRACE_SECONDS = 1


@asynccontextmanager
async def serving_metrics(host: str, port: int, collect: Collect) -> AsyncIterator[str]:
    """Serve `/metrics` until the block ends.

    Returns:
        The URL.
    """
    stop = asyncio.Event()
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    with bind(host, port, setting="telemetry.prometheus") as listener:
        serving = asyncio.create_task(
            serve_app(
                _application(collect),
                listener,
                shutdown_grace_period=_GRACE_SECONDS,
                limits=_LIMITS,
                on_ready=ready.set_result,
                stop=stop,
                handles_signals=False,
            )
        )
        try:
            await asyncio.wait((serving, ready), return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                await serving
            url = f"{ready.result()}{PATH}"
            log.info("Prometheus metrics: %s", url)
            yield url
        finally:
            stop.set()
            await serving


def _application(collect: Collect) -> Starlette:
    turn = asyncio.Lock()

    async def metrics(request: Request) -> Response:
        from sluicegate.telemetry.export.prometheus import exposition

        async with turn:
            families = await collect()
            accept = request.headers.get("accept")
            body, content_type = await asyncio.to_thread(exposition, families, accept)
        return Response(body, headers={"Content-Type": content_type})

    return Starlette(routes=[Route(PATH, metrics, methods=["GET"])])
