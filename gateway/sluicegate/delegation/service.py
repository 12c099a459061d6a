"""Assembles the service and its workers from the configuration, and runs them."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from sluicegate._util.lazy import Lazy
from sluicegate._util.tasks import cancel_all
from sluicegate.api.errors import ConfigurationError
from sluicegate.audit.actions import Operations, RequestActions, read_operations
from sluicegate.audit.assembly import audit_log
from sluicegate.audit.middleware import AuditTrail
from sluicegate.config import Settings
from sluicegate.database import Store
from sluicegate.delegation.callbacks import Callbacks
from sluicegate.delegation.grants import RealmGrants
from sluicegate.delegation.queue.completion import Watcher
from sluicegate.delegation.queue.encryption import PayloadCipher
from sluicegate.delegation.queue.leases import Leases
from sluicegate.delegation.queue.metrics import QueueGauges
from sluicegate.delegation.queue.retention import Retention
from sluicegate.delegation.queue.tasks import TaskQueue
from sluicegate.delegation.rest import responses
from sluicegate.delegation.rest.access_tokens import ServiceTokens
from sluicegate.delegation.rest.callers import Callers
from sluicegate.delegation.rest.routes import TaskRoutes
from sluicegate.delegation.schedules.closed_windows import ClosedWindows
from sluicegate.delegation.worker.configured_executors import ConfiguredExecutors
from sluicegate.delegation.worker.executor_thread import ExecutorThread
from sluicegate.delegation.worker.worker import Worker
from sluicegate.http.application import Application
from sluicegate.http.concurrency_limit import ConcurrencyLimit, ConcurrencyLimitMiddleware
from sluicegate.http.health import HEALTH_PATHS, Readiness, health_routes
from sluicegate.http.responses import json_response
from sluicegate.http.serving import Tls, bind, serve_app
from sluicegate.plugins import ConfiguredInstances, Registry, configure
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.load import load_keys
from sluicegate.telemetry.middleware import RequestTelemetry

log = logging.getLogger(__name__)

# Longer than a transaction's timeouts, but shorter than a supervisor waits before SIGKILL.
_LAST_SECONDS = 15.0
_DOCUMENT = f"{responses.PREFIX}/openapi.json"
_DESCRIBED = Path(__file__).parent / "rest" / "openapi.yaml"
_NO_EXECUTOR = "a worker has nothing to run: name an executor under delegation.executors"


@dataclass(frozen=True, slots=True)
class Base:
    """Components that the service and its workers share."""

    settings: Settings
    registry: Registry
    configured: ConfiguredInstances
    store: Store
    cipher: PayloadCipher
    queue: TaskQueue

    @classmethod
    @asynccontextmanager
    async def opened(cls, settings: Settings) -> AsyncIterator[Base]:
        """Open the shared components, with callbacks running."""
        registry = Registry.load(settings)
        configured = configure(settings, registry)
        configured.log_warnings()
        cipher = PayloadCipher.of(settings)
        store = await Store.open(settings.database.get_secret_value())
        try:
            base = cls(settings, registry, configured, store, cipher, TaskQueue(store, cipher))
            async with AsyncExitStack() as stack:
                if settings.delegation.callback is not None:
                    callbacks = Callbacks(store, settings.delegation.callback)
                    await stack.enter_async_context(_background(callbacks.run))
                yield base
        finally:
            await store.aclose()

    @property
    def grants(self) -> RealmGrants:
        """Return the grants of all realms."""
        return RealmGrants.configured(self.settings.delegation, self.configured)

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[Worker]:
        """Return a worker with its executors, which are closed at the end of the block."""
        if not self.configured.executors:
            raise ConfigurationError(self.settings.problem(("delegation",), _NO_EXECUTOR))
        delegation = self.settings.delegation
        async with ExecutorThread.opened(delegation.worker.cancel_timeout) as thread:
            executors = ConfiguredExecutors(self.registry, self.configured, self.grants, self.settings)
            try:
                by_operation = await thread.run(executors.build)
                leases = Leases(self.store, delegation)
                yield Worker(by_operation, leases, self.queue, self.cipher, delegation, thread)
            finally:
                await thread.finish(executors.aclose)

    @asynccontextmanager
    async def app(self) -> AsyncIterator[ASGIApp]:
        """Return the application; its watcher runs during the block."""
        delegation, max_body = self.settings.delegation, self.settings.limits.request_body.delegation
        keys = load_keys(self.settings)
        tokens = ServiceTokens(delegation, keys)
        callers = Callers(delegation, lambda: tokens)
        watcher = Watcher(self.queue)
        readiness = Readiness(self.store.ping)
        operations = self.configured.operations
        routes = TaskRoutes(callers, self.queue, watcher, operations, self.grants, max_body)
        app = Application(
            [
                *health_routes(readiness.check),
                Route(responses.TOKEN_PATH, tokens.endpoint, methods=["POST"]),
                Route(_DOCUMENT, _openapi, methods=["GET"]),
                *routes.routes(),
            ],
            responses.refused,
        )
        try:
            gauges = QueueGauges(self.store, operations)
            retention = Retention(self.store, delegation.retention)
            windows = ClosedWindows(self.store)
            async with AsyncExitStack() as stack:
                for run in (watcher.run, gauges.run, retention.run, windows.run, readiness.measure):
                    await stack.enter_async_context(_background(run))
                if delegation.schedules:
                    await stack.enter_async_context(self._scheduling())
                limit = ConcurrencyLimit(self.settings.server.concurrency, "client")
                limited = ConcurrencyLimitMiddleware(app, limit, responses.refused_early)
                yield RequestTelemetry(
                    await stack.enter_async_context(self._recorded(limited, app.routes, keys))
                )
        finally:
            await callers.aclose()

    @asynccontextmanager
    async def _scheduling(self) -> AsyncIterator[None]:
        """Fire schedules until the block ends. Other services don't import these modules."""
        from sluicegate.delegation.schedules.scheduler import opened_scheduler

        parts = (self.settings, self.registry, self.configured, self.store, self.cipher)
        async with opened_scheduler(*parts) as scheduler, _background(scheduler.run):
            yield

    @asynccontextmanager
    async def _recorded(
        self, served: ASGIApp, routes: Sequence[BaseRoute], keys: KeyRing
    ) -> AsyncIterator[ASGIApp]:
        """Return the application, with its requests recorded in the audit log if there is one."""
        async with audit_log(self.settings, keys, self.store, self.registry.notify) as audit:
            if self.settings.audit.mode == "off":
                yield served
                return
            actions = RequestActions(routes, Lazy(_operations))
            unrecorded = HEALTH_PATHS | {_DOCUMENT}
            yield AuditTrail(served, audit, actions, responses.refused_early, unrecorded=unrecorded)


def _operations() -> Operations:
    return read_operations([_DESCRIBED], responses.PREFIX)


async def _openapi(request: Request) -> Response:
    # The document is rarely requested.
    from sluicegate.delegation.rest.openapi import document
    from sluicegate.http.openapi import served_at

    found = await anyio.to_thread.run_sync(document)
    return json_response(served_at(str(request.base_url).rstrip("/"), found))


async def serve_delegation(
    settings: Settings,
    *,
    with_worker: bool = False,
    on_ready: Callable[[str], None] = lambda address: None,
    stop: asyncio.Event | None = None,
) -> bool:
    """Serve the API until SIGINT or SIGTERM.

    Returns:
        Whether an executor is still running; a normal exit of the interpreter might wait for it.
    """
    delegation = settings.delegation
    tls = None if delegation.tls is None else Tls(**delegation.tls.model_dump()).context()
    listener = bind(delegation.host, delegation.port)
    try:
        async with AsyncExitStack() as stack:
            base = await stack.enter_async_context(Base.opened(settings))
            app = await stack.enter_async_context(base.app())
            worker = await stack.enter_async_context(_working(base)) if with_worker else None
            await serve_app(
                app,
                listener,
                shutdown_grace_period=settings.server.shutdown_grace_period,
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
    """Run tasks until SIGINT or SIGTERM, then drain. A second signal releases tasks at once.

    Returns:
        Whether an executor is still running; a normal exit of the interpreter might wait for it.
    """
    async with Base.opened(settings) as base, base.worker() as worker, _background(_ending(worker)):
        _heed_signals(worker)
        on_ready(worker)
        await worker.run()
    return worker.has_left


@asynccontextmanager
async def _working(base: Base) -> AsyncIterator[Worker]:
    """Run a worker next to the service, and drain it at the end."""
    async with base.worker() as worker, _background(_ending(worker)):
        running = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            worker.drain()
            _heed_signals(worker)  # the server no longer handles them
            await running


def _heed_signals(worker: Worker) -> None:
    if threading.current_thread() is threading.main_thread():
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, worker.interrupted)


def _ending(worker: Worker) -> Callable[[], Coroutine[Any, Any, None]]:
    """Exit the process if shutdown hangs after the worker stopped, for example in the database."""

    def end() -> None:
        log.error("the worker cannot stop cleanly; it exits now")
        os._exit(1)

    async def wait() -> None:
        await worker.left()
        timer = threading.Timer(_LAST_SECONDS, end)
        timer.daemon = True
        timer.start()

    return wait


def _nothing() -> None:
    """Drain function if there is no worker."""


@asynccontextmanager
async def _background(run: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Run a coroutine until the block ends.

    Unlike a task group, it doesn't wrap errors of the block.
    """
    task = asyncio.create_task(run())
    try:
        yield
    finally:
        await cancel_all(task)
