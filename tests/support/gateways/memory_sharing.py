"""What the endpoints of Delta Sharing are made of, around a gateway in memory."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

from support.gateways.memory_client import AUTHENTICATION
from support.gateways.memory_gateway import KEYS, MemoryGateway

from sluicegate._util.background_jobs import BackgroundJobs
from sluicegate._util.lazy import Lazy
from sluicegate.api import Principal, SharedTable
from sluicegate.config import Settings
from sluicegate.protocols.delta_sharing.directory_access.credentials import TableCredentials
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate.protocols.delta_sharing.pipeline import QueryPipeline
from sluicegate.protocols.delta_sharing.query.async_queries import AsyncQueries
from sluicegate.protocols.delta_sharing.query.execute import TableQueries
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.tables.snapshot import Snapshot

MAX_BODY = 1_000


def sharing_parts(gateway: MemoryGateway, threshold: float = 5.0) -> dict[str, Any]:
    """The arguments of `SharingEndpoints`.

    Args:
        gateway: What is served.
        threshold: Seconds until a query is pending.
    """
    pages = TokenSigner(KEYS, 60)
    background = BackgroundJobs()
    access = DirectoryAccess(gateway.instances)
    steps = Lazy(
        lambda: QueryPipeline.build(
            Settings(),
            KEYS,
            pages=pages,
            resolver=gateway.resolver,
            access=access,
            instances=gateway.instances,
            vending=gateway.vending,
            reader=gateway.reader,
        )
    )

    async def latest(principal: Principal, shared: SharedTable) -> Snapshot:
        return await (await steps.get()).viewer.latest(principal, shared)

    async def table_queries() -> TableQueries:
        return (await steps.get()).queries

    return {
        "authentication": AUTHENTICATION,
        "grants": gateway.grants,
        "resolver": gateway.resolver,
        "access": access,
        "steps": steps,
        "async_queries": AsyncQueries(table_queries, KEYS.derive("query ids"), background, threshold),
        "credentials": TableCredentials(gateway.resolver, access, latest, gateway.vending),
        "tokens": pages,
        "background": background,
        "max_body": MAX_BODY,
    }


def remaining_lifetime(token: str) -> float:
    """Seconds until a token of `TokenSigner` expires."""
    body = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))[16:]
    expires: int = json.loads(body)["exp"]
    return expires - time.time()
