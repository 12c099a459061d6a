"""Errors in the lifespans of plugins: whom they name, and what they hide."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from support.process.installed import Site

from sluicegate.api import ConfigurationError
from sluicegate.plugins import Registry

NAMED = "plugin 'cache' (sluicegate-cache 1.0) failed in sluicegate_lifespan while the gateway "
HEAD = """
import asyncio
from contextlib import asynccontextmanager
from sluicegate.api import *
from sluicegate.api import hookimpl

@hookimpl
def sluicegate_lifespan(services):
    return running()

@asynccontextmanager
async def running():
"""
REFUSED = "raise Unavailable('the store does not respond', detail='db-7')"


def services(plugin: str) -> Any:
    return plugin


async def run(site: Site, body: str, failure: BaseException | None = None) -> None:
    """Enter and leave the lifespan of a plugin; between the two, the gateway may fail."""
    site.install("cache", HEAD + "".join(f"    {line}\n" for line in body.splitlines()))
    [lifespan] = Registry.load(["cache"]).lifespans(services)
    async with lifespan:
        if failure is not None:
            raise failure


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("raise OSError('hunter2')\nyield", "starts: OSError in "),
        ("raise SystemExit('hunter2')\nyield", "starts: SystemExit in "),
        (f"{REFUSED}\nyield", "starts: the store does not respond"),
        ("yield\nraise OSError('hunter2')", "stops: OSError in "),
        ("yield\nraise SystemExit('hunter2')", "stops: SystemExit in "),
        (f"yield\n{REFUSED}", "stops: the store does not respond"),
    ],
)
async def test_a_failed_lifespan_names_the_plugin_without_the_errors_text(
    site: Site, body: str, expected: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        await run(site, body)
    error = caught.value
    assert error.message.startswith(NAMED + expected)
    assert "hunter2" not in error.for_operators
    assert error.detail == ("db-7" if "store" in expected else None)


async def test_a_failure_is_located_in_the_plugins_file(site: Site) -> None:
    with pytest.raises(ConfigurationError, match=r"OSError in .*plugin_cache\.py:13$"):
        await run(site, "raise OSError('hunter2')\nyield")


@pytest.mark.parametrize("body", ["yield", "async with asyncio.TaskGroup():\n    yield"])
async def test_an_error_of_the_gateway_is_none_of_the_plugin(
    site: Site, caplog: pytest.LogCaptureFixture, body: str
) -> None:
    with pytest.raises(ConfigurationError, match=r"^the port is used$"):
        await run(site, body, ConfigurationError("the port is used"))
    assert caplog.records == []


async def test_an_error_of_the_gateway_is_raised_although_the_plugin_fails_too(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    body = "try:\n    yield\nfinally:\n    raise OSError('hunter2')"
    with (
        caplog.at_level(logging.WARNING),
        pytest.raises(ConfigurationError, match=r"^the port is used$"),
    ):
        await run(site, body, ConfigurationError("the port is used"))
    assert caplog.messages[0].startswith(f"{NAMED}stops: OSError in ")
    assert "hunter2" not in caplog.text


async def test_cancellation_passes_through(site: Site) -> None:
    with pytest.raises(asyncio.CancelledError):
        await run(site, "yield", asyncio.CancelledError())
