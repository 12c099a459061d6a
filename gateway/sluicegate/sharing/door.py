"""Puts the Delta Sharing door together: the steps of the way, the keys and lifetimes of its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from sluicegate.access.authentication import Authentication
from sluicegate.access.grants import Grants
from sluicegate.config import Settings
from sluicegate.doors.resolve import Resolver
from sluicegate.doors.tokens import TokenSigner
from sluicegate.keyring import KeyRing
from sluicegate.late import Late
from sluicegate.registry import Instances
from sluicegate.sharing.async_queries import AsyncQueries
from sluicegate.sharing.derived_door import DerivedDoor
from sluicegate.sharing.directory import DirectoryAccess
from sluicegate.sharing.hadoop_tokens import HadoopTokenDoor
from sluicegate.sharing.openapi import openapi_route
from sluicegate.sharing.routes import PREFIX, SharingDoor
from sluicegate.sharing.table_credentials import TableCredentials
from sluicegate.tables.reader import TableReader
from sluicegate.vending import Vending
from sluicegate.vending.hadoop.bindings import TokenBindings
from sluicegate.vending.hadoop.issue import TokenIssuer

if TYPE_CHECKING:
    from sluicegate.sharing.answers import TableAnswers
    from sluicegate.sharing.table_steps import TableSteps


def sharing_routes(
    settings: Settings,
    keys: KeyRing,
    *,
    authentication: Authentication,
    grants: Grants,
    instances: Instances,
    reader: TableReader,
    vending: Vending,
    token_bindings: TokenBindings,
) -> list[Route]:
    """The routes of the door.

    Args:
        settings: The gateway's; its `sharing` section holds lifetimes.
        keys: The gateway's; each kind of token is signed with keys of its own, derived from them.
        authentication: Recognises recipients.
        grants: What they were granted.
        instances: Catalogs and storage.
        reader: Reads tables.
        vending: Gives temporary credentials.
        token_bindings: Kinds of Hadoop's delegation tokens.
    """
    pages = TokenSigner(keys.derive("page tokens"), settings.sharing.page_token_lifetime)
    resolver = Resolver(grants, instances, vending)
    access = DirectoryAccess(instances)

    def steps() -> TableSteps:
        from sluicegate.sharing.table_steps import TableSteps  # half of all memory and start-up time

        return TableSteps.build(
            settings,
            keys,
            pages=pages,
            resolver=resolver,
            access=access,
            instances=instances,
            vending=vending,
            reader=reader,
        )

    late_steps = Late(steps)

    async def answers() -> TableAnswers:
        return (await late_steps.get()).answers

    queries = AsyncQueries(answers, keys.derive("query ids"), settings.sharing.async_after)
    credentials = TableCredentials(resolver, access, late_steps, vending)
    door = SharingDoor(
        authentication=authentication,
        grants=grants,
        resolver=resolver,
        access=access,
        steps=late_steps,
        async_queries=queries,
        credentials=credentials,
        tokens=pages,
        max_body=settings.server.max_body,
    )
    issuer = TokenIssuer(vending, keys.derive("hadoop tokens"))
    hadoop = HadoopTokenDoor(resolver, credentials, token_bindings, issuer, settings.server.max_body)
    return [
        *door.routes(),
        hadoop.route(authentication),
        DerivedDoor(keys, grants, resolver, reader).route(),
        openapi_route(settings.public_url, PREFIX),
    ]
