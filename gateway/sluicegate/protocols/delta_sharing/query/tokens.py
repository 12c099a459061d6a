"""Page tokens and refresh tokens of snapshot queries, with which responses continue.

Both pin the version. Both are bound to the recipient, the table, and the original request.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from sluicegate.api import Principal, SharedTable
from sluicegate.protocols.delta_sharing.request import QueryRequest
from sluicegate.signing.opaque_tokens import TokenSigner


@dataclass(frozen=True, slots=True)
class Continuation:
    """The position at which a response starts.

    Attributes:
        version: The pinned version. `None` for a first request.
    """

    version: int | None = None
    after: str | None = None
    rows_left: int | None = None


class Continuations:
    """Issues and verifies the tokens of queries."""

    def __init__(self, pages: TokenSigner, refreshes: TokenSigner) -> None:
        self._pages = pages
        self._refreshes = refreshes

    def start(self, principal: Principal, shared: SharedTable, request: QueryRequest) -> Continuation:
        """Return the position at which a request starts."""
        bound = bound_to(principal, shared, request.identity)
        if request.page_token is not None:
            state = self._pages.verify(request.page_token, bound_to=bound, parameter="pageToken")
            return Continuation(state["version"], state["after"], state["rows_left"])
        if request.refresh_token is not None:
            state = self._refreshes.verify(
                request.refresh_token, bound_to=bound, parameter="refreshToken"
            )
            return Continuation(state["version"])
        return Continuation()

    def next_page(
        self, principal: Principal, shared: SharedTable, request: QueryRequest, rest: Continuation
    ) -> str:
        """The token of the next page."""
        state = {"version": rest.version, "after": rest.after, "rows_left": rest.rows_left}
        return self._pages.sign(state, bound_to=bound_to(principal, shared, request.identity))

    def refresh(
        self, principal: Principal, shared: SharedTable, request: QueryRequest, version: int
    ) -> str:
        """The token that re-signs the same version of the same request."""
        bound = bound_to(principal, shared, request.identity)
        return self._refreshes.sign({"version": version}, bound_to=bound)


def bound_to(principal: Principal, shared: SharedTable, identity: tuple[object, ...]) -> str:
    """Return the text that a token is bound to: recipient, table, and identity of the request."""
    digest = hashlib.sha256(repr(identity).encode()).hexdigest()
    return "\n".join((principal.id, shared.id, digest))
