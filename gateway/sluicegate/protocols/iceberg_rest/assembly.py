"""Assembles the Iceberg REST protocol."""

from __future__ import annotations

from starlette.routing import Route

from sluicegate._util.background_jobs import BackgroundJobs
from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.grants import Grants
from sluicegate.access.recipients.profile import ICEBERG_PATH
from sluicegate.config import Settings
from sluicegate.plugins import Instances
from sluicegate.protocols.common.iceberg_eligibility import IcebergOffers
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.iceberg_rest.loading import TableLoader
from sluicegate.protocols.iceberg_rest.metadata import MetadataFiles
from sluicegate.protocols.iceberg_rest.routes import IcebergEndpoints
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.vending import Vending


def iceberg_routes(
    settings: Settings,
    keys: KeyRing,
    *,
    authentication: Authentication,
    grants: Grants,
    instances: Instances,
    resolver: Resolver,
    vending: Vending,
    background: BackgroundJobs,
) -> list[Route]:
    """The routes of the protocol.

    Args:
        settings: The gateway's settings. The `sharing` section contains the lifetime of page tokens.
        keys: The gateway's keys. Page tokens have dedicated signing keys that are derived from them.
        authentication: Identifies recipients.
        grants: The recipients' grants.
        instances: Catalogs and storage.
        resolver: Finds shared tables; all protocols share its cached listings.
        vending: Vends temporary credentials.
        background: Looks up tables for listings.
    """
    offers = IcebergOffers(instances)
    metadata = MetadataFiles(resolver, instances)
    endpoints = IcebergEndpoints(
        authentication=authentication,
        grants=grants,
        resolver=resolver,
        offers=offers,
        loader=TableLoader(resolver, offers, metadata, vending),
        tokens=TokenSigner(keys.derive("iceberg page tokens"), settings.sharing.page_token_lifetime),
        background=background,
        max_body=settings.limits.request_body.sharing,
    )
    return endpoints.routes(ICEBERG_PATH)
