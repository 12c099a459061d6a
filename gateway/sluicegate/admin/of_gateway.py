"""Makes the Admin API of a gateway, if it is enabled. Otherwise, nothing of it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sluicegate.config import Settings
from sluicegate.database import Store
from sluicegate.signing.keyring import KeyRing

if TYPE_CHECKING:
    from sluicegate.admin.assembly import AdminApi
    from sluicegate.plugins import Instances
    from sluicegate.plugins.configured import ConfiguredInstances
    from sluicegate.protocols.explain.explainer import Explainer
    from sluicegate.protocols.explain.who_can import WhoCan


def admin_api(
    settings: Settings,
    keys: KeyRing,
    store: Store,
    instances: Instances,
    configured: ConfiguredInstances,
    explanations: Callable[[], tuple[Explainer, WhoCan]],
) -> AdminApi | None:
    """The Admin API, or `None` if the configuration does not enable it.

    Args:
        settings: The settings of the gateway.
        keys: Its signing keys.
        store: Its open database.
        instances: Its catalogs and storage.
        configured: The configuration of these.
        explanations: Returns its services that explain access.
    """
    if settings.admin is None:
        return None
    from sluicegate.admin.assembly import AdminApi
    from sluicegate.admin.services import AdminServices
    from sluicegate.vending.sessions import end_sessions

    async def explain() -> tuple[Explainer, WhoCan]:
        return explanations()

    services = AdminServices(
        store=store,
        catalogs=lambda: instances.catalogs,
        end_sessions=lambda principal, before: end_sessions(instances, principal, before),
        explanations=explain,
        configured=lambda: configured,
    )
    return AdminApi(settings, settings.admin, keys, services)
