"""Applies shares files, and describes the administrator that sends a request."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from starlette.responses import Response

from sluicegate import __version__
from sluicegate._util.clock import iso_utc
from sluicegate.access.shares_file.catalog_check import check_sources
from sluicegate.access.shares_file.diff import Difference, describe, render
from sluicegate.access.shares_file.models import Declaration
from sluicegate.access.shares_file.read import SharesFile
from sluicegate.access.shares_file.stored import (
    ALL,
    grants_of_share,
    joined,
    readers_part,
    share_part,
)
from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.conditions import PreconditionFailed, entity_tag
from sluicegate.admin.dependencies import AdminServices
from sluicegate.admin.editing.changes import in_thread
from sluicegate.admin.editor import Editor
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.services.listings import EntryListings
from sluicegate.api import Catalog
from sluicegate.api.errors import ConfigurationError, NotFound
from sluicegate.protocols.common.parameters import boolean


class StoredResource:
    """Serves `/export`, and the details of shares."""

    def __init__(self, editor: Editor, listings: EntryListings) -> None:
        self._editor = editor
        self._listings = listings

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        return [
            AdminRoute("GET", "/shares/{share}/details", self._details, "viewer", "getShareDetails"),
            AdminRoute("GET", "/export", self._export, "viewer", "exportSharesFile"),
        ]

    async def _details(self, call: AdminCall) -> Response:
        complete = boolean("complete", call.query("complete").get("complete"))
        name = call.name("share")
        parts = share_part(name), grants_of_share(name)
        stored, share = await self._listings.share(call.admin, name, *parts)
        content = {"name": share.names[0], "id": share.id, "recipients": stored.recipients_of(share)}
        return await in_thread(lambda: answered(content | stored.content(share, complete=complete)))

    async def _export(self, call: AdminCall) -> Response:
        query = call.query("share", "recipients", "ids")
        recipients = boolean("recipients", query.get("recipients"))
        ids = boolean("ids", query.get("ids"))
        names = call.request.query_params.getlist("share")
        for name in names:
            call.admin.check_share(name)
        for name in names:
            await self._listings.share(call.admin, name)
        part = joined(*map(share_part, names), readers_part(names)) if names else ALL
        stored = await self._editor.stored(call.admin, part)
        if not names and not stored.shares:
            call.admin.check_all_shares()
        return await in_thread(lambda: answered(stored.export(names, recipients=recipients, ids=ids)))


_OPTIONS = ("dry_run", "prune", "check_sources")


class ApplyResource:
    """Serves `/apply` and `/me`."""

    def __init__(self, editor: Editor, services: AdminServices) -> None:
        self._editor = editor
        self._services = services

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        return [
            AdminRoute("GET", "/me", self._me, "viewer", "getMe"),
            AdminRoute("POST", "/apply", self._apply, "admin", "applySharesFile", body=Declaration),
        ]

    async def _me(self, call: AdminCall) -> Response:
        admin = call.admin
        return answered(
            {
                "name": admin.name,
                "role": admin.role,
                "shares": None if admin.shares is None else sorted(admin.shares),
                "method": admin.method,
                "expires_at": iso_utc(admin.expires_at),
                "version": __version__,
            }
        )

    async def _apply(self, call: AdminCall) -> Response:
        query = call.query(*_OPTIONS)
        dry_run, prune, check = (boolean(name, query.get(name)) for name in _OPTIONS)
        match = call.conditions.match
        file = await call.parsed(self._editor.check_file)
        # First, because a failure must not hide that changes were made.
        warnings = await self._warnings(file) if check else []

        def confirm(difference: Difference) -> None:
            if match is not None and "*" not in match and _tag(difference) not in match:
                raise PreconditionFailed(
                    "the database has changed since the differences were shown; nothing was applied: "
                    "run the command again"
                )

        difference = await self._editor.apply(
            call.admin, file, prune=prune, dry_run=dry_run, confirm=confirm
        )
        if call.admin.shares is not None:  # other shares and recipients are none of its business
            difference = replace(difference, untouched=())
        return await in_thread(lambda: _answer(difference, warnings, applied=not dry_run))

    async def _warnings(self, file: SharesFile) -> list[dict[str, Any]]:
        try:
            catalogs = self._services.catalogs()
        except ConfigurationError as error:  # a plugin cannot be built, which a gateway never serves
            lines = error.message.splitlines()
            return [
                {"location": [], "message": f"the sources were not checked: {each}"} for each in lines
            ]

        def catalog(name: str) -> Catalog:
            if name not in catalogs:
                raise NotFound(f"there is no catalog named '{name}' in the configuration")
            return catalogs[name]

        problems = await check_sources(
            file,
            catalog,
            describe=self._services.describe,
            on_progress=self._services.on_progress,
        )
        return [asdict(each) for each in problems]


def _answer(difference: Difference, warnings: list[dict[str, Any]], *, applied: bool) -> Response:
    answer = {
        "applied": applied,
        "changes": list(describe(difference)),
        "untouched": [{"kind": each.kind, "name": list(each.names)} for each in difference.untouched],
        "warnings": warnings,
        "removals": difference.removals,
        "text": list(render(difference)),
    }
    response = answered(answer)
    response.headers["ETag"] = _tag(difference)
    return response


def _tag(difference: Difference) -> str:
    """The entity tag of the changes, with which a client confirms them."""
    return entity_tag(list(describe(difference)))
