"""What is known of the request being served: its id and, once it is authenticated, its recipient."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class RequestInfo:
    """Shared by every task and thread that works for one request, so what one learns all log."""

    id: str
    recipient: str | None = None


_current: ContextVar[RequestInfo | None] = ContextVar("sluicegate_request", default=None)


def enter_request(request: RequestInfo) -> None:
    """Make `request` the one that this task, and all that it starts, works for."""
    _current.set(request)


def current_request() -> RequestInfo | None:
    """The request that the calling task works for, or `None` outside of one."""
    return _current.get()


def request_id() -> str | None:
    """Id of the request being served, as its `x-request-id` response header says."""
    request = _current.get()
    return None if request is None else request.id


def name_recipient(name: str) -> None:
    """Tell whom the request is served for; outside of a request nothing happens."""
    request = _current.get()
    if request is not None:
        request.recipient = name
