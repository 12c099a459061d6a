"""Assembles the limits of recipients and addresses of a gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.responses import Response
from starlette.types import ASGIApp

from sluicegate.access.grants import Grants
from sluicegate.access.limits.addresses import AddressLimit
from sluicegate.access.limits.bucket import Rate
from sluicegate.access.limits.recipients import RecipientLimiter
from sluicegate.access.limits.sync import LimitSync
from sluicegate.api.errors import SluicegateError
from sluicegate.config import Settings
from sluicegate.database import Store


@asynccontextmanager
async def recipient_limits(
    settings: Settings, store: Store, grants: Grants
) -> AsyncIterator[RecipientLimiter]:
    """The limits of recipients, which are kept current until the block ends."""
    limiter = RecipientLimiter(settings.limits.recipient, settings.limits.address)
    sync = LimitSync(store, limiter)
    grants.on_change(sync.changed, ["recipients"])
    async with sync.running():
        yield limiter


def limit_addresses(
    app: ASGIApp, settings: Settings, refuse: Callable[[str, SluicegateError], Response]
) -> ASGIApp:
    """The application, with the limits of addresses if there are any."""
    limits = settings.limits.address
    per_minute, concurrent = limits.requests_per_minute, limits.concurrent_requests
    if per_minute is None and concurrent is None:
        return app
    rate = None if per_minute is None else Rate(per_minute, limits.burst or per_minute)
    return AddressLimit(app, refuse, rate=rate, concurrent=concurrent)
