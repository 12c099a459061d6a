"""Context of the current request: its id and, after authentication, its recipient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

_silent: ContextVar[bool] = ContextVar("sluicegate_silent", default=False)


@contextmanager
def silence() -> Iterator[None]:
    """Create no spans and count nothing in this block, including its tasks and threads."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def is_silent() -> bool:
    """Whether the calling task is in such a block."""
    return _silent.get()


@dataclass(slots=True)
class RequestInfo:
    """Shared by all tasks and threads of one request, so that all of them log the same context.

    Attributes:
        id: Created by the gateway, so that a client can't give two requests the same id.
    """

    id: str
    client_id: str | None = None
    recipient: str | None = None
    headers: Callable[[], list[tuple[bytes, bytes]]] | None = None
    error: Exception | None = None


_current: ContextVar[RequestInfo | None] = ContextVar("sluicegate_request", default=None)


def enter_request(request: RequestInfo) -> None:
    """Set the current request of this task and of all tasks that it starts."""
    _current.set(request)


def current_request() -> RequestInfo | None:
    """Return the current request of the calling task, or `None` outside of a request."""
    return _current.get()


def request_id() -> str | None:
    """Return the id of the current request, which its response header `x-request-id` contains."""
    request = _current.get()
    return None if request is None else request.id


def name_recipient(name: str) -> None:
    """Set the recipient of the current request. Without a current request, this has no effect."""
    request = _current.get()
    if request is not None:
        request.recipient = name


def note_error(error: Exception) -> None:
    """Set the error that the current request gets as its response. The last one counts."""
    request = _current.get()
    if request is not None:
        request.error = error


def add_response_headers(headers: Callable[[], list[tuple[bytes, bytes]]]) -> None:
    """Add headers to the response to the current request, whichever part of the gateway sends it."""
    request = _current.get()
    if request is not None:
        request.headers = headers
