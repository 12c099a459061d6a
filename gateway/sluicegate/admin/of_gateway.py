"""Makes the Admin API of a gateway that enables it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sluicegate.admin.assembly import AdminApi
from sluicegate.admin.gateway import AdminServices
from sluicegate.config import Settings
from sluicegate.config.admin.settings import AdminSettings
from sluicegate.database import Store
from sluicegate.plugins import Instances
from sluicegate.plugins.configured import ConfiguredInstances
from sluicegate.signing.keyring import KeyRing
from sluicegate.vending.sessions import end_sessions

if TYPE_CHECKING:
    from sluicegate.protocols.explain.explainer import Explainer
    from sluicegate.protocols.explain.who_can import WhoCan


def admin_api(
    settings: Settings,
    section: AdminSettings,
    keys: KeyRing,
    store: Store,
    instances: Instances,
    configured: ConfiguredInstances,
    explanations: Callable[[], tuple[Explainer, WhoCan]],
) -> AdminApi:
    """The Admin API of a gateway.

    Args:
        settings: The settings of the gateway.
        section: Its section `admin`.
        keys: Its signing keys.
        store: Its open database.
        instances: Its catalogs and storage.
        configured: The configuration of these.
        explanations: Returns its services that explain access.
    """

    async def explain() -> tuple[Explainer, WhoCan]:
        return explanations()

    services = AdminServices(
        store=store,
        catalogs=lambda: instances.catalogs,
        end_sessions=lambda principal, before: end_sessions(instances, principal, before),
        explanations=explain,
        configured=lambda: configured,
        open_location=instances.open_location,
    )
    return AdminApi(settings, section, keys, services)
