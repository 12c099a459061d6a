"""What the endpoints of Delta Sharing are made of, around a gateway in memory."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

from support.gateways.memory_client import AUTHENTICATION
from support.gateways.memory_gateway import KEYS, MemoryGateway
from support.gateways.parts import gateway_parts

from sluicegate.protocols.delta_sharing.assembly import lazy_pipeline, table_credentials
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate.protocols.delta_sharing.query.async_queries import AsyncQueries
from sluicegate.protocols.delta_sharing.query.execute import TableQueries

MAX_BODY = 1_000


def sharing_parts(gateway: MemoryGateway, threshold: float = 5.0) -> dict[str, Any]:
    """The arguments of `SharingEndpoints`."""
    parts = gateway_parts(gateway)
    steps = lazy_pipeline(parts)

    async def table_queries() -> TableQueries:
        return (await steps.get()).queries

    return {
        "authentication": AUTHENTICATION,
        "grants": gateway.grants,
        "resolver": gateway.resolver,
        "access": DirectoryAccess(gateway.instances),
        "steps": steps,
        "async_queries": AsyncQueries(
            table_queries, KEYS.derive("query ids"), parts.background, threshold
        ),
        "credentials": table_credentials(parts, steps),
        "tokens": parts.page_tokens(),
        "background": parts.background,
        "max_body": MAX_BODY,
    }


def remaining_lifetime(token: str) -> float:
    """Seconds until a token of `TokenSigner` expires."""
    body = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))[16:]
    expires: int = json.loads(body)["exp"]
    return expires - time.time()
