"""Links of the gateway that were issued to one recipient, for files that it generates.

They have the shape and signature of other file links (`protocols/file_links`). Instead of a path, a
link contains the recipient, the shared table, and what names the file. It contains no credential, and
nothing that the recipient does not know.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Generic, Self, TypeVar

import orjson
from starlette.requests import Request

from sluicegate.access.authentication.recipient_checks import check_recipient
from sluicegate.access.grants import Grants
from sluicegate.api.errors import PermissionDenied, Unauthenticated
from sluicegate.api.principals import Principal
from sluicegate.http.concurrency_limit import slots_of
from sluicegate.protocols.file_links import verify
from sluicegate.signing.keyring import KeyRing
from sluicegate.telemetry import name_recipient

_METHOD = "link"


@dataclass(frozen=True, slots=True)
class RecipientLink:
    """The contents of a link, without what names the file."""

    recipient_id: str
    recipient: str
    share: str
    schema: str
    table: str

    @classmethod
    def parse(cls, path: str) -> Self:
        """Parse the output of `path`, which the gateway has signed."""
        return cls(*orjson.loads(base64.urlsafe_b64decode(path + "=" * (-len(path) % 4))))

    @property
    def path(self) -> str:
        """The signed text, which contains only characters that URLs accept unchanged."""
        return base64.urlsafe_b64encode(orjson.dumps(astuple(self))).decode().rstrip("=")


_Link = TypeVar("_Link", bound=RecipientLink)


class RecipientLinks(Generic[_Link]):
    """Opens links of one kind. The link is the credential; no bearer token is needed.

    The recipient is checked again for each request. A link therefore stops working when the recipient
    is removed, if it has not expired before.
    """

    def __init__(
        self,
        kind: type[_Link],
        space: str,
        keys: KeyRing,
        grants: Grants,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._kind = kind
        self._space = space
        self._keys = keys
        self._grants = grants
        self._clock = clock

    async def open(self, request: Request) -> tuple[Principal, _Link]:
        """The recipient and the contents of a link, whose address is the path parameter `link`."""
        path = request.path_params["link"]
        verify(self._keys, self._space, path, request.url.query, self._clock())
        slots = slots_of(request.scope)
        if slots is not None:
            await slots.enter(None)
        link = self._kind.parse(path)
        address = request.client and request.client.host
        principal = await link_recipient(self._grants, link.recipient, link.recipient_id, address)
        name_recipient(principal.name)
        if slots is not None:
            slots.name(principal.id)
        return principal, link


async def link_recipient(
    grants: Grants, name: str, recipient_id: str, address: str | None, method: str = _METHOD
) -> Principal:
    """The recipient of a link or key, if access is allowed now."""
    record = await grants.recipient(name)
    if record is None or record.id != recipient_id:
        missing = PermissionDenied(f"the recipient of this {method} no longer exists")
        raise missing.decided_by("authentication")
    try:
        return check_recipient(record, method, address)
    except Unauthenticated as error:
        raise PermissionDenied(error.message).decided_by("authentication") from error
