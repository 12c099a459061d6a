"""Records the requests of an application in the audit log, with the operations of its documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from sluicegate._util.lazy import Lazy
from sluicegate.access.recipients.profile import ACTIVATION_PATH
from sluicegate.audit.actions import Operations, RequestActions, read_operations
from sluicegate.audit.middleware import AuditTrail
from sluicegate.audit.records import AuditLog
from sluicegate.http.health import HEALTH_PATHS
from sluicegate.protocols.delta_sharing.paths import PREFIX
from sluicegate.protocols.openapi.address import DOCUMENT

if TYPE_CHECKING:
    from starlette.responses import Response

    from sluicegate.api.errors import SluicegateError

_DESCRIBED = Path(__file__).parent / "openapi" / "paths"
_PUBLIC = frozenset({*HEALTH_PATHS, PREFIX + DOCUMENT, f"{ACTIVATION_PATH}/style.css"})


def lazy_operations(more: Callable[[], Operations]) -> Lazy[Operations]:
    """The operations of the OpenAPI document of recipients, and others."""

    def operations() -> Operations:
        return {**read_operations(_DESCRIBED.glob("*.yaml")), **more()}

    return Lazy(operations)


def recorded(
    app: ASGIApp,
    log: AuditLog,
    routes: Sequence[BaseRoute],
    operations: Lazy[Operations],
    refuse: Callable[[str, SluicegateError], Response],
    unrecorded: frozenset[str] = frozenset(),
) -> AuditTrail:
    """The application, which responds to no request before it is recorded."""
    return AuditTrail(
        app, log, RequestActions(routes, operations), refuse, unrecorded=_PUBLIC | unrecorded
    )
