"""The keys of cached responses: everything that determines a response's bytes."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field, fields, replace

from sluicegate.api import CatalogTable, SharedTable, TemporaryCredentials
from sluicegate.protocols.delta_sharing.query.tokens import Continuation
from sluicegate.protocols.delta_sharing.request import QueryRequest
from sluicegate.protocols.delta_sharing.view import View

# The key has these in another form. It has all other fields of a view, including later ones.
_OTHERWISE = ("table", "snapshot", "files")
_VIEW = tuple(each.name for each in fields(View) if each.name not in _OTHERWISE)


@dataclass(frozen=True, slots=True)
class ResponseKey:
    """What determines a response, except for the snapshot, which the cache compares by identity.

    Attributes:
        recipient: The recipient's id. `None` if the response is the same for all recipients with these
            properties.
        properties: The recipient's properties, which partition filters compare. Sorted.
        signed_by: Keyed digest of the vended credentials; `None` if the instance signs with its own.
    """

    recipient: str | None
    properties: tuple[tuple[str, str], ...]
    shared: SharedTable
    source: CatalogTable
    storage: int
    signed_by: bytes | None
    version: int
    view: tuple[object, ...]
    request: QueryRequest
    start: Continuation
    coding: str | None


@dataclass(frozen=True, slots=True)
class ResponseKeys:
    """The keys under which a response can be cached.

    Attributes:
        shared: For all recipients who see the same. `None` if responses are not shared.
    """

    personal: ResponseKey
    shared: ResponseKey | None


@dataclass(frozen=True, slots=True)
class KeyMaker:
    """Makes the keys of responses."""

    share: bool
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def keys(
        self, view: View, request: QueryRequest, start: Continuation, coding: str | None
    ) -> ResponseKeys | None:
        """The keys of a response.

        Returns:
            `None` if it cannot be cached, because a plugin returned values that cannot be compared.
        """
        table = view.table
        personal = ResponseKey(
            recipient=table.principal.id,
            properties=tuple(sorted(table.principal.properties.items())),
            shared=table.shared,
            source=table.source,
            storage=id(table.storage),
            signed_by=self._digest(table.credentials),
            version=view.snapshot.version,
            view=tuple(getattr(view, name) for name in _VIEW),
            request=_without_tokens(request),
            start=replace(start, version=None),
            coding=coding,
        )
        try:
            hash(personal)
        except TypeError:
            return None
        # Vended credentials are a session of the recipient, which must not sign for others.
        shareable = self.share and table.credentials is None
        return ResponseKeys(personal, replace(personal, recipient=None) if shareable else None)

    def _digest(self, credentials: TemporaryCredentials | None) -> bytes | None:
        if credentials is None:
            return None
        parts = (
            credentials.kind,
            credentials.location,
            credentials.expires_at,
            sorted(credentials.secret.items()),
            sorted(credentials.connection.items()),
        )
        return hmac.digest(self._secret, repr(parts).encode(), "sha256")


def _without_tokens(request: QueryRequest) -> QueryRequest:
    """The request without what only the last line depends on, which is made for each response."""
    return replace(
        request,
        page_token=None,
        refresh_token=None,
        include_refresh_token=False,
        idempotency_key=None,
    )
