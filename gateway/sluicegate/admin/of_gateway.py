"""Makes the Admin API of a gateway that enables it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sluicegate.admin.assembly import AdminApi
from sluicegate.admin.gateway import AdminServices
from sluicegate.config.admin.settings import AdminSettings
from sluicegate.plugins.configured import ConfiguredInstances
from sluicegate.protocols.parts import GatewayParts
from sluicegate.vending.sessions import end_sessions

if TYPE_CHECKING:
    from sluicegate.protocols.explain.explainer import Explainer
    from sluicegate.protocols.explain.who_can import WhoCan


def admin_api(
    parts: GatewayParts,
    section: AdminSettings,
    configured: ConfiguredInstances,
    explanations: Callable[[], tuple[Explainer, WhoCan]],
) -> AdminApi:
    """The Admin API of a gateway, by its section `admin`."""
    instances = parts.instances

    async def explain() -> tuple[Explainer, WhoCan]:
        return explanations()

    services = AdminServices(
        store=parts.store,
        catalogs=lambda: instances.catalogs,
        end_sessions=lambda principal, before: end_sessions(instances, principal, before),
        explanations=explain,
        configured=lambda: configured,
        open_location=instances.open_location,
    )
    return AdminApi(parts.settings, section, parts.keys, services)
