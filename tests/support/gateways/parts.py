"""The value that assemblies take, made of parts in memory."""

from __future__ import annotations

from typing import Any, Protocol, cast

from support.gateways.memory_client import AUTHENTICATION
from support.gateways.memory_gateway import KEYS

from sluicegate.access.grants import Grants
from sluicegate.config import Settings
from sluicegate.plugins import Instances
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.parts import GatewayParts
from sluicegate.tables.reading.reader import TableReader
from sluicegate.vending import Vending


class InMemoryParts(Protocol):
    """What every gateway in memory has."""

    @property
    def grants(self) -> Grants: ...
    @property
    def instances(self) -> Instances: ...
    @property
    def vending(self) -> Vending: ...


def gateway_parts(
    made: InMemoryParts, settings: Settings | None = None, **replaced: Any
) -> GatewayParts:
    """The parts of a gateway in memory, which has no database."""
    known = {
        "keys": KEYS,
        "store": cast("Any", None),
        "authentication": AUTHENTICATION,
        "reader": getattr(made, "reader", None) or TableReader(made.instances.formats, 1 << 20),
        "resolver": Resolver(made.grants, made.instances, made.vending),
        "instances": made.instances,
        "grants": made.grants,
        "vending": made.vending,
    }
    own = getattr(made, "resolver", None)
    if isinstance(own, Resolver):
        known["resolver"] = own
    return GatewayParts(settings=settings or Settings(), **{**known, **replaced})
