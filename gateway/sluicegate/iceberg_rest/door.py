"""Puts the Iceberg door together."""

from __future__ import annotations

from starlette.routing import Route

from sluicegate.access.authentication import Authentication
from sluicegate.access.grants import Grants
from sluicegate.access.profile import ICEBERG_PATH
from sluicegate.config import Settings
from sluicegate.doors.iceberg_offers import IcebergOffers
from sluicegate.doors.resolve import Resolver
from sluicegate.doors.tokens import TokenSigner
from sluicegate.iceberg_rest.loading import TableLoader
from sluicegate.iceberg_rest.metadata import MetadataFiles
from sluicegate.iceberg_rest.routes import IcebergDoor
from sluicegate.keyring import KeyRing
from sluicegate.registry import Instances
from sluicegate.vending import Vending


def iceberg_routes(
    settings: Settings,
    keys: KeyRing,
    *,
    authentication: Authentication,
    grants: Grants,
    instances: Instances,
    vending: Vending,
) -> list[Route]:
    """The routes of the door.

    Args:
        settings: The gateway's; its `sharing` section holds the lifetime of page tokens.
        keys: The gateway's; page tokens are signed with keys of their own, derived from them.
        authentication: Recognises recipients.
        grants: What they were granted.
        instances: Catalogs and storage.
        vending: Gives temporary credentials.
    """
    resolver = Resolver(grants, instances, vending)
    offers = IcebergOffers(instances)
    metadata = MetadataFiles(resolver, instances)
    door = IcebergDoor(
        authentication=authentication,
        grants=grants,
        resolver=resolver,
        offers=offers,
        loader=TableLoader(resolver, offers, metadata, vending),
        tokens=TokenSigner(keys.derive("iceberg page tokens"), settings.sharing.page_token_lifetime),
        max_body=settings.server.max_body,
    )
    return door.routes(ICEBERG_PATH)
