"""Puts the Delta Sharing door together: the steps of the way, the keys and lifetimes of its tokens."""

from __future__ import annotations

from starlette.routing import Route

from sluicegate.access.authentication import BearerAuthentication
from sluicegate.access.grants import Grants
from sluicegate.config import Settings
from sluicegate.keyring import KeyRing
from sluicegate.registry import Instances
from sluicegate.sharing.answers import TableAnswers
from sluicegate.sharing.async_queries import AsyncQueries
from sluicegate.sharing.continuation import Continuations
from sluicegate.sharing.resolve import Resolver
from sluicegate.sharing.routes import SharingDoor
from sluicegate.sharing.signing import Signer
from sluicegate.sharing.tokens import TokenSigner
from sluicegate.sharing.view import Viewer
from sluicegate.tables.reader import TableReader


def sharing_routes(
    settings: Settings,
    keys: KeyRing,
    *,
    authentication: BearerAuthentication,
    grants: Grants,
    instances: Instances,
    reader: TableReader,
) -> list[Route]:
    """The routes of the door.

    Args:
        settings: The gateway's; its `sharing` section holds lifetimes.
        keys: The gateway's; each kind of token is signed with keys of its own, derived from them.
        authentication: Recognises recipients.
        grants: What they were granted.
        instances: Catalogs and storage.
        reader: Reads tables.
    """
    sharing = settings.sharing
    pages = TokenSigner(keys.derive("page tokens"), sharing.page_token_lifetime)
    refreshes = TokenSigner(keys.derive("refresh tokens"), sharing.refresh_token_lifetime)
    resolver = Resolver(grants, instances)
    viewer = Viewer(resolver, reader)
    signer = Signer(instances, sharing.url_lifetime)
    answers = TableAnswers(viewer, signer, Continuations(pages, refreshes))
    door = SharingDoor(
        authentication=authentication,
        grants=grants,
        resolver=resolver,
        viewer=viewer,
        answers=answers,
        async_queries=AsyncQueries(answers, keys.derive("query ids"), sharing.async_after),
        tokens=pages,
        max_body=settings.server.max_body,
    )
    return door.routes()
