"""The service and its workers: put together from the configuration, and run."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from sluicegate.config import Settings
from sluicegate.delegation import answers
from sluicegate.delegation.callbacks import Callbacks
from sluicegate.delegation.callers import Callers
from sluicegate.delegation.configured_executors import ConfiguredExecutors
from sluicegate.delegation.executor_thread import ExecutorThread
from sluicegate.delegation.gauges import QueueGauges
from sluicegate.delegation.grants import RealmGrants
from sluicegate.delegation.leases import Leases
from sluicegate.delegation.openapi import document
from sluicegate.delegation.queue import TaskQueue
from sluicegate.delegation.retention import Retention
from sluicegate.delegation.routes import TaskRoutes
from sluicegate.delegation.sealing import Seal
from sluicegate.delegation.tokens import ServiceTokens
from sluicegate.delegation.waiting import Watcher
from sluicegate.delegation.worker import Worker
from sluicegate.errors import ConfigurationError, SluicegateError
from sluicegate.http.health import health_routes
from sluicegate.http.responses import json_response
from sluicegate.http.serving import Tls, bind, serve_app
from sluicegate.keys import load_keys
from sluicegate.registry import ConfiguredInstances, Registry, configure
from sluicegate.store import Store
from sluicegate.telemetry.middleware import RequestTelemetry

log = logging.getLogger(__name__)

# Longer than a transaction's timeouts, and shorter than what a supervisor waits before SIGKILL.
_LAST_SECONDS = 15.0
_NO_EXECUTOR = "a worker has nothing to run: name an executor under delegation.executors"


@dataclass(frozen=True, slots=True)
class Base:
    """What the service and its workers share."""

    settings: Settings
    registry: Registry
    configured: ConfiguredInstances
    store: Store
    seal: Seal
    queue: TaskQueue

    @classmethod
    @asynccontextmanager
    async def opened(cls, settings: Settings) -> AsyncIterator[Base]:
        """The base, with its callbacks running.

        Raises:
            ConfigurationError: The configuration is wrong, or the database cannot be reached.
        """
        registry = Registry.load(settings)
        configured = configure(settings, registry)
        seal = Seal.of(settings)
        store = await Store.open(settings.database.get_secret_value())
        try:
            base = cls(settings, registry, configured, store, seal, TaskQueue(store, seal))
            async with AsyncExitStack() as stack:
                if settings.delegation.callback is not None:
                    callbacks = Callbacks(store, settings.delegation.callback)
                    await stack.enter_async_context(_background(callbacks.run))
                yield base
        finally:
            await store.aclose()

    @property
    def grants(self) -> RealmGrants:
        """What each realm was granted."""
        return RealmGrants.configured(self.settings.delegation, self.configured)

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[Worker]:
        """A worker with its executors, which are closed at the end.

        Raises:
            ConfigurationError: There is no executor, or one cannot be built.
        """
        if not self.configured.executors:
            raise ConfigurationError(self.settings.problem(("delegation",), _NO_EXECUTOR))
        delegation = self.settings.delegation
        async with ExecutorThread.opened(delegation.worker.cancel_timeout) as thread:
            executors = ConfiguredExecutors(self.registry, self.configured, self.grants)
            try:
                by_operation = await thread.run(executors.build)
                leases = Leases(self.store, delegation)
                yield Worker(by_operation, leases, self.queue, self.seal, delegation, thread)
            finally:
                await thread.finish(executors.aclose)

    @asynccontextmanager
    async def app(self) -> AsyncIterator[ASGIApp]:
        """The application, with what waits for tasks running."""
        delegation = self.settings.delegation
        tokens = ServiceTokens(delegation, load_keys(self.settings))
        callers = Callers(delegation, lambda: tokens)
        watcher = Watcher(self.queue)
        operations = self.configured.operations
        routes = TaskRoutes(callers, self.queue, watcher, operations, self.grants, delegation.max_body)
        app = Starlette(
            routes=[
                *health_routes(self.store.ping),
                Route(f"{answers.PREFIX}/v1/oauth/tokens", tokens.endpoint, methods=["POST"]),
                Route(f"{answers.PREFIX}/openapi.json", _openapi, methods=["GET"]),
                *routes.routes(),
            ],
            exception_handlers=dict.fromkeys(
                (HTTPException, SluicegateError, Exception), answers.refused
            ),
        )
        app.router.redirect_slashes = False
        try:
            gauges = QueueGauges(self.store, operations)
            retention = Retention(self.store, delegation.retention)
            async with AsyncExitStack() as stack:
                for run in (watcher.run, gauges.run, retention.run):
                    await stack.enter_async_context(_background(run))
                yield RequestTelemetry(app)
        finally:
            await callers.aclose()


async def _openapi(request: Request) -> Response:
    return json_response(document(str(request.base_url).rstrip("/")))


async def serve_delegation(
    settings: Settings,
    *,
    with_worker: bool = False,
    on_ready: Callable[[str], None] = lambda address: None,
    stop: asyncio.Event | None = None,
) -> bool:
    """Serve the API until SIGINT or SIGTERM.

    Args:
        settings: The section `delegation` says where.
        with_worker: Run a worker in this process, too; it drains at the end.
        on_ready: Called with the address, once connections are accepted.
        stop: Ends serving as a signal does, once it is set.

    Returns:
        Whether an executor was left behind, which an interpreter that ends may wait for.

    Raises:
        ConfigurationError: It cannot start, or the address cannot be bound.
    """
    delegation = settings.delegation
    tls = None if delegation.tls is None else Tls(**delegation.tls.model_dump())
    listener = bind(delegation.host, delegation.port)
    try:
        async with AsyncExitStack() as stack:
            base = await stack.enter_async_context(Base.opened(settings))
            app = await stack.enter_async_context(base.app())
            worker = await stack.enter_async_context(_working(base)) if with_worker else None
            await serve_app(
                app,
                listener,
                stop_timeout=settings.server.stop_timeout,
                limits=settings.server.limits,
                tls=tls,
                on_ready=on_ready,
                on_stop=_nothing if worker is None else worker.drain,
                stop=stop,
            )
        return worker is not None and worker.has_left
    finally:
        listener.close()


async def run_worker(
    settings: Settings, *, on_ready: Callable[[Worker], None] = lambda worker: None
) -> bool:
    """Run tasks until SIGINT or SIGTERM; then drain, or give back at once when a second one comes.

    Returns:
        Whether an executor was left behind, which an interpreter that ends may wait for.

    Raises:
        ConfigurationError: It cannot start.
    """
    async with Base.opened(settings) as base, base.worker() as worker, _background(_ending(worker)):
        _heed_signals(worker)
        on_ready(worker)
        await worker.run()
    return worker.has_left


@asynccontextmanager
async def _working(base: Base) -> AsyncIterator[Worker]:
    """A worker beside the service, drained at the end."""
    async with base.worker() as worker, _background(_ending(worker)):
        running = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            worker.drain()
            _heed_signals(worker)  # the server does so no longer
            await running


def _heed_signals(worker: Worker) -> None:
    if threading.current_thread() is threading.main_thread():
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, worker.interrupted)


def _ending(worker: Worker) -> Callable[[], Coroutine[Any, Any, None]]:
    """Ends the process some time after the worker has left what does not end: a database, say."""

    def end() -> None:
        log.error("the worker cannot stop in order; it ends now")
        os._exit(1)

    async def wait() -> None:
        await worker.left()
        timer = threading.Timer(_LAST_SECONDS, end)
        timer.daemon = True
        timer.start()

    return wait


def _nothing() -> None:
    """There is no worker to drain."""


@asynccontextmanager
async def _background(run: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Let something run until the block ends; unlike a task group, it wraps no errors of the block."""
    task = asyncio.create_task(run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
