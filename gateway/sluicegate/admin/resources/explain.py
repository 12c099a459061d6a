"""Explains which recipients can read a table, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from starlette.responses import Response

from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.dependencies import AdminServices
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.recipient_access import RecipientAccess
from sluicegate.admin.services.listings import EntryListings
from sluicegate.api import ASSET_KINDS
from sluicegate.api.errors import InvalidRequest
from sluicegate.config.yaml import nearest
from sluicegate.database.names import name_key
from sluicegate.protocols.common.parameters import boolean
from sluicegate.telemetry.redaction import redact

if TYPE_CHECKING:
    from sluicegate.protocols.explain.models import NamedKind, Reader

_Word = TypeVar("_Word", bound=str)
_KINDS: Sequence[NamedKind] = ("table", *ASSET_KINDS)
_HIDDEN = "not shown: this requires the role for all shares of the recipient"


class ExplainResource:
    """Serves explanations. They issue nothing."""

    def __init__(
        self, access: RecipientAccess, listings: EntryListings, services: AdminServices
    ) -> None:
        self._access = access
        self._listings = listings
        self._services = services

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        return [
            AdminRoute(
                "GET", "/recipients/{recipient}/access/explain", self._explain, "admin", "explainAccess"
            ),
            AdminRoute(
                "GET",
                "/shares/{share}/schemas/{schema}/tables/{table}/readers",
                self._readers,
                "admin",
                "listReaders",
            ),
        ]

    async def _explain(self, call: AdminCall) -> Response:
        from sluicegate.protocols.explain.models import Action, AssetPath

        query = call.query("table", "action", "from", "kind", "offline")
        parts = query.get("table", "").rsplit(".", 2)  # only a share's name can contain periods
        if len(parts) != 3 or not all(parts):
            raise InvalidRequest("table must be a name such as SHARE.SCHEMA.TABLE")
        path = AssetPath(*parts)
        actions: tuple[Action, ...] = get_args(Action)
        recipient = call.name("recipient")
        if call.admin.shares is not None:
            await self._listings.share(call.admin, path.share)
            await self._access.managed(call.admin, recipient)
        explainer, _ = await self._services.explanations()
        found = await explainer.explain(
            recipient,
            path,
            action=_known("action", query.get("action", "read"), actions),
            kind=_kind(query.get("kind")),
            address=_address(query.get("from")),
            offline=boolean("offline", query.get("offline")),
        )
        ways = [_redacted({"open": way.is_open} | asdict(way)) for way in found.ways]
        steps = [_redacted(asdict(step)) for step in found.steps]
        return answered(asdict(found) | {"steps": steps, "ways": ways})

    async def _readers(self, call: AdminCall) -> Response:
        from sluicegate.protocols.explain.models import AssetPath

        query = call.query("kind", "offline")
        path = AssetPath(*(call.name(part) for part in ("share", "schema", "table")))
        if call.admin.shares is not None:
            await self._listings.share(call.admin, path.share)
        offline = boolean("offline", query.get("offline"))
        _, who_can = await self._services.explanations()
        found = await who_can.readers(path, kind=_kind(query.get("kind")), offline=offline)
        readers = await self._shown(call, found.readers)
        return answered(asdict(found) | {"readers": [_redacted(asdict(each)) for each in readers]})

    async def _shown(self, call: AdminCall, readers: tuple[Reader, ...]) -> list[Reader]:
        """The readers. Of recipients that also read shares of others, only the names are shown."""
        if call.admin.shares is None:
            return list(readers)
        names = [each.recipient for each in readers]
        managed = await self._access.managed_among(call.admin, names)
        return [
            each
            if name_key(each.recipient) in managed
            else replace(each, allowed=None, ways=(), reason=_HIDDEN, credentials=_HIDDEN)
            for each in readers
        ]


def _kind(value: str | None) -> NamedKind | None:
    return None if value is None else _known("kind", value, _KINDS)


def _known(what: str, value: str, known: Sequence[_Word]) -> _Word:
    for word in known:
        if word == value:
            return word
    raise InvalidRequest(f"there is no {what} '{value[:64]}'{nearest(value[:64], known)}")


def _address(value: str | None) -> str | None:
    if value is None:
        return None
    try:
        return str(ip_address(value))
    except ValueError:
        raise InvalidRequest("from must be an IP address, such as 203.0.113.7 or 2001:db8::7") from None


def _redacted(shown: dict[str, Any]) -> dict[str, Any]:
    """Texts contain private details of errors, as the log does."""
    return {key: redact(value) if isinstance(value, str) else value for key, value in shown.items()}
