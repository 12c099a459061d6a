"""Plan ids and plan tasks: signed tokens from which any replica plans the same again.

Nothing is kept between requests. Tokens are bound to the recipient and the table, and contain the
request and the version.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from typing import Any

import orjson

from sluicegate.api import InvalidRequest, Principal, SharedTable
from sluicegate.protocols.iceberg_rest.errors import NoSuchPlanId, NoSuchPlanTask
from sluicegate.protocols.iceberg_rest.planning.candidates import PlanPage
from sluicegate.protocols.iceberg_rest.planning.dialects import Dialect
from sluicegate.protocols.iceberg_rest.planning.request import PlanRequest
from sluicegate.protocols.iceberg_rest.view import TableView, snapshot_id
from sluicegate.signing.opaque_tokens import TokenSigner

# A plan id is a segment of a URL. Ids of requests with larger filters cannot be used to plan again.
_LONGEST_PLAN_ID = 1500
_PLAN, _TASK = "plan-id", "plan-task"


@dataclass(frozen=True, slots=True)
class PinnedPlan:
    """A request at the version that it was planned for.

    Attributes:
        with_index: Whether the table can be read from its index. If the log was needed for a page, the
            other pages are not tried with the index again.
    """

    request: PlanRequest
    table_id: str
    page: PlanPage
    with_index: bool

    def belongs_to(self, view: TableView) -> bool:
        """Whether a view is of the table and version of the plan."""
        snapshot = view.snapshot
        return (snapshot.metadata.id, snapshot.version) == (self.table_id, self.request.version)


class PlanTokens:
    """Issues and verifies plan ids and plan tasks."""

    def __init__(self, signer: TokenSigner) -> None:
        self._signer = signer

    def plan_id(self, view: TableView, request: PlanRequest) -> str:
        """The id of a plan."""
        bound = _bound_to(_PLAN, view.table.principal, view.table.shared)
        token = self._signer.sign(_state(view, request), bound_to=bound)
        if len(token) <= _LONGEST_PLAN_ID:
            return token
        return self._signer.sign({"version": view.snapshot.version}, bound_to=bound)

    def plan_task(self, view: TableView, request: PlanRequest, page: PlanPage) -> str:
        """The token of a page of a plan."""
        state = _state(view, request) | {"after": page.after, "until": page.until}
        bound = _bound_to(_TASK, view.table.principal, view.table.shared)
        return self._signer.sign(state, bound_to=bound)

    def open_plan(self, principal: Principal, shared: SharedTable, token: str) -> PinnedPlan:
        """The plan with an id."""
        state = self._verify_plan(principal, shared, token)
        if "request" not in state:
            raise NoSuchPlanId("plan-id: the plan is too large to be fetched again: submit it again")
        return _pinned(state)

    def cancel(self, principal: Principal, shared: SharedTable, token: str) -> None:
        """Verify the id of a plan that is no longer needed. There is nothing to release."""
        self._verify_plan(principal, shared, token)

    def open_task(self, principal: Principal, shared: SharedTable, token: str) -> PinnedPlan:
        """The plan and page of a plan task."""
        bound = _bound_to(_TASK, principal, shared)
        try:
            return _pinned(self._signer.verify(token, bound_to=bound, parameter=_TASK))
        except InvalidRequest as error:
            raise NoSuchPlanTask(error.message) from None

    def _verify_plan(self, principal: Principal, shared: SharedTable, token: str) -> dict[str, Any]:
        bound = _bound_to(_PLAN, principal, shared)
        try:
            return self._signer.verify(token, bound_to=bound, parameter=_PLAN)
        except InvalidRequest as error:
            raise NoSuchPlanId(error.message) from None


def _state(view: TableView, request: PlanRequest) -> dict[str, Any]:
    compressed = base64.b64encode(zlib.compress(request.source, 1)).decode()
    return {
        "version": view.snapshot.version,
        "table": view.snapshot.metadata.id,
        "start": request.after,
        "request": compressed,
        "dialect": request.dialect.value,
        "indexed": view.indexed,
    }


def _pinned(state: dict[str, Any]) -> PinnedPlan:
    """Restore a plan from what `_state` made of it, which a signature has proved."""
    body = zlib.decompress(base64.b64decode(state["request"]))
    fields = orjson.loads(body)
    snapshot = snapshot_id(state["version"])
    if state["start"] is None:
        fields["snapshot-id"] = snapshot
    else:
        fields |= {"start-snapshot-id": state["start"], "end-snapshot-id": snapshot}
    page = PlanPage(state.get("after"), state.get("until"))
    request = PlanRequest.of(fields, Dialect(state["dialect"]), body)
    return PinnedPlan(request, state["table"], page, state.get("indexed", True))


def _bound_to(kind: str, principal: Principal, shared: SharedTable) -> str:
    return "\n".join((f"iceberg {kind}", principal.id, shared.id))
