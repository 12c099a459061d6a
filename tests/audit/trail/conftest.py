"""A gateway whose audit log is in memory."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest
import pytest_asyncio
from support.gateways.audited import AuditedSite, SiteInThread, audited_site


@contextmanager
def _event_loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture(scope="module")
def shared_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SiteInThread]:
    """A site for all tests of a module, on another thread's event loop."""
    with _event_loop() as loop:
        running = audited_site(tmp_path_factory.mktemp("site"), {})
        site = asyncio.run_coroutine_threadsafe(running.__aenter__(), loop).result()
        try:
            yield SiteInThread(site, loop)
        finally:
            asyncio.run_coroutine_threadsafe(running.__aexit__(None, None, None), loop).result()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def module_site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AuditedSite]:
    """A site for all tests of a module, which have its event loop."""
    async with audited_site(tmp_path_factory.mktemp("site"), {}) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def site(module_site: AuditedSite) -> AuditedSite:
    """The site with its first shares, a new token of `acme`, and an empty log."""
    await module_site.reset()
    return module_site
