"""uvicorn's HTTP protocol with limits for headers, trailers, slow clients, and connections.

It also responds with JSON to malformed requests, and passes the client's certificate on.
"""

from __future__ import annotations

import asyncio
import re
from enum import Enum, auto
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from sluicegate.api.errors import MalformedRequest, SluicegateError
from sluicegate.http.client_certificates import PEER_KEY, Peer
from sluicegate.http.connections import Connections, HeadTooLarge, RequestTooSlow, closing_response
from sluicegate.http.joined_writes import JoinedWrites
from sluicegate.http.limits import MIN_BODY_RATE

# Memory overhead of a header apart from its bytes (RFC 9113, section 6.5.2, counts the same).
_HEADER_OVERHEAD = 32
_MAX_PIPELINED = 16
# `uri-host [":" port]` (RFC 9110, section 7.2); empty if the target has no authority.
_HOST = re.compile(
    rb"(?:\[[0-9A-Za-z:._~!$&'()*+,;=-]+\]|(?:[0-9A-Za-z._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?"
)
# Seconds: for a refused client to read the error, and to end a body after the response.
_LINGER = 2.0
_DRAIN = 5.0


class _Phase(Enum):
    """The event that a connection waits for."""

    HEAD = auto()
    BODY = auto()
    RESPONSE = auto()
    IDLE = auto()


# Python 3.11 looks up enumeration members slowly, and each request does so a dozen times.
_HEAD, _BODY, _RESPONSE, _IDLE = _Phase


class LimitedHttpProtocol(HttpToolsProtocol):
    """One connection.

    Each request carries its peer (`PEER_KEY`), as it is before proxy headers are applied.
    """

    address: str | None = None
    _peer: Peer | None = None
    _refusal: SluicegateError | None = None
    _refused = False
    _closes_after_response = False

    def __init__(
        self,
        config: uvicorn.Config,
        state: ServerState,
        app_state: dict[str, Any],
        connections: Connections,
    ) -> None:
        super().__init__(config, state, app_state)
        self._all = connections
        self._limits = connections.limits
        self._max_head = connections.limits.max_head
        self._phase = _HEAD
        self._since = self._now = connections.clock()  # `_now` when bytes last arrived
        self._head = 0  # bytes of this request's line, headers and trailers
        self._received = 0  # bytes of its body
        self._events = 0  # what the parser has found so far, in all requests
        self._unfinished = 0  # bytes of a head so far, or bytes in which the parser has found nothing
        self._ended = 0  # requests that have arrived completely
        self._unsent = 0  # bytes that the client had not read when `_stalled_since` was set
        self._stalled_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Handle a new connection. With TLS, the handshake is complete."""
        super().connection_made(transport)
        self._since = self._all.clock()
        refusal = self._all.admit(self, self.client[0] if self.client else None)
        if refusal is not None:
            self.refuse(refusal)
            return
        tls = transport.get_extra_info("ssl_object")
        certificate = None if tls is None else tls.getpeercert(binary_form=True)
        self._peer = Peer(self.client[0] if self.client else None, certificate)

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the end of the connection."""
        self._all.forget(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Handle bytes of one or several requests."""
        if self._refused:
            return
        events, ended = self._events, self._ended
        now = self._now = self._all.clock()
        super().data_received(data)
        if self._phase is _HEAD and self._ended == ended:
            if not self._unfinished:
                self._all.waits(self, now)
            self._unfinished += len(data)
        elif self._events == events:
            self._unfinished += len(data)
        else:
            self._unfinished = 0
        if self._unfinished > self._max_head:
            self.refuse(self._head_too_large())

    def on_message_begin(self) -> None:
        """Handle the start of a request."""
        super().on_message_begin()
        self._enter(_HEAD)
        self._head = self._received = self._unfinished = 0
        self.scope[PEER_KEY] = self._peer  # type: ignore[literal-required]

    def on_url(self, url: bytes) -> None:
        """Handle a part of the target."""
        self._head += len(url)
        if self._head > self._max_head:
            self._refuse_head()
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Handle a header or a trailer. Trailers are never treated as headers."""
        self._head += len(name) + len(value) + _HEADER_OVERHEAD
        if self._head > self._max_head:
            self._refuse_head()
        if self._phase is not _HEAD:
            self._events += 1
        else:
            name = name.lower()
            if name == b"expect" and value.lower() == b"100-continue":
                self.expect_100_continue = True
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Pass the request to the application: its headers are complete."""
        self._check_host()
        if len(self.pipeline) >= _MAX_PIPELINED:
            raise _Refused
        self._enter(_BODY)
        before = self._cycle()
        super().on_headers_complete()
        cycle = self._cycle()
        if cycle is None or cycle is before:
            return  # not a request that is answered here
        JoinedWrites.install(cycle)
        if self._closes_after_response:
            cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Handle a part of the body."""
        self._events += 1
        self._received += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Handle the end of a request."""
        self._ended += 1
        cycle = self.cycle
        if cycle.response_complete:
            self._enter(_IDLE)
            return
        cycle.more_body = False
        cycle.message_event.set()
        self._enter(_RESPONSE)
        self._all.works(self)

    def on_response_complete(self) -> None:
        """Handle a completed response. `sweep` closes the connection if it then stays idle."""
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._phase is _RESPONSE:
            self._phase = _IDLE
            self._since = now = self._all.clock()
            self._all.waits(self, now)
        elif self._phase is _BODY:
            self._since = self._all.clock()  # start of the period `_DRAIN` for the rest of the body

    def send_400_response(self, msg: str) -> None:
        """Refuse the request and close the connection: the start of the next request is unknown."""
        self.refuse(self._refusal or MalformedRequest("this is not a valid HTTP/1.1 request"))

    def refuse(self, error: SluicegateError) -> None:
        """Respond with an error if that is still possible, and end the connection."""
        if self._refused:
            return
        self._refused = True
        self._all.count_refusal(str(error.status))
        answerable = self._is_answerable()
        cycle = self._cycle()
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        if not answerable or self.transport.is_closing():
            self.transport.abort()
            return
        self.transport.write(closing_response(error))
        if self.transport.can_write_eof() and self._all.linger(self):
            # Closing with unread bytes resets the TCP connection: the client would lose the response.
            self._since = self._all.clock()
            self.transport.write_eof()
            self.flow.resume_reading()
        else:
            self.transport.close()

    def shutdown(self) -> None:
        """Stop: close the connection if no request is in progress."""
        if self._refused:
            self.transport.abort()
        else:
            super().shutdown()

    def close_after_response(self) -> None:
        """Close the connection after the response in progress, or else after the next one."""
        self._closes_after_response = True
        cycle = self._cycle()
        if cycle is not None and not cycle.response_complete:
            cycle.keep_alive = False

    def evict(self) -> None:
        """Close at once, because another client needs the slot."""
        self.transport.abort()

    def sweep(self, now: float, elapsed: float) -> None:
        """Close or refuse the connection if it is overdue."""
        waited = now - self._since
        if self._refused:
            if waited > _LINGER:
                self.transport.abort()
        elif self._is_stalled(now):
            self.transport.abort()
        elif self._phase is _HEAD:
            self._sweep_head(waited)
        elif self._phase is _BODY:
            self._sweep_body(now, elapsed)
        elif self._phase is _IDLE and waited > self._limits.keep_alive_timeout:
            self.transport.close()

    def _sweep_head(self, waited: float) -> None:
        if waited <= self._limits.head_timeout or not self._is_answerable():
            return
        if self._head or self._unfinished:
            seconds = self._limits.head_timeout
            self.refuse(RequestTooSlow(f"the request's headers were not complete after {seconds:g} s"))
        else:
            self.transport.close()  # nothing was requested: browsers open spare connections

    def _sweep_body(self, now: float, elapsed: float) -> None:
        if self.cycle.response_complete:
            if now - self._since > _DRAIN:
                self.transport.abort()
        elif self.flow.read_paused:
            self._since += elapsed  # the application is slow, not the client
        elif now > self._limits.body_deadline(self._since, self._received):
            message = f"the request's body was slower than {MIN_BODY_RATE} bytes per second"
            self.refuse(RequestTooSlow(message))

    def _is_stalled(self, now: float) -> bool:
        """Whether the client has read nothing of its response for too long."""
        unsent = self.transport.get_write_buffer_size()
        if not self.flow.write_paused or unsent != self._unsent:
            self._unsent, self._stalled_since = unsent, now
            return False
        return now - self._stalled_since > self._limits.send_timeout

    def _is_answerable(self) -> bool:
        """Whether bytes that are written now are the response to the request that is arriving."""
        if self.pipeline:
            return False
        cycle = self._cycle()
        if cycle is None or cycle.response_complete:
            return True
        return self._phase is not _HEAD and not cycle.response_started

    def _cycle(self) -> RequestResponseCycle | None:
        """The newest request. uvicorn's type omits that a new connection has none."""
        return self.cycle

    def _enter(self, phase: _Phase) -> None:
        """Move on to what the parser has found in the bytes that arrived at `_now`."""
        self._events += 1
        self._phase = phase
        self._since = self._now

    def _check_host(self) -> None:
        """Refuse requests that proxies and the gateway could attribute to different hosts."""
        hosts = [value for name, value in self.headers if name == b"host"]
        if len(hosts) == 1:
            if _HOST.fullmatch(hosts[0]):
                return
            self._refusal = MalformedRequest("the request's Host header is not valid")
        elif hosts or self.parser.get_http_version() != "1.0":
            self._refusal = MalformedRequest("the request must have exactly one Host header")
        else:
            return
        raise _Refused

    def _refuse_head(self) -> None:
        self._refusal = self._head_too_large()
        raise _Refused

    def _head_too_large(self) -> SluicegateError:
        limit = self._max_head
        return HeadTooLarge(f"the request's headers and trailers are longer than {limit} bytes")


class _Refused(Exception):
    """Stops the parser for a refused request."""
