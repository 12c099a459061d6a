"""uvicorn's HTTP protocol with limits: of heads, trailers, slow clients and connections.

It also answers in JSON what is no HTTP request, and names who has connected with a certificate.
"""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from sluicegate.errors import MalformedRequest, SluicegateError
from sluicegate.http.connections import Connections
from sluicegate.http.refusals import HeadTooLarge, RequestTooSlow, closing_response

# What a header costs in memory apart from its bytes (RFC 9113, section 6.5.2, counts the same).
_HEADER_OVERHEAD = 32
_MAX_PIPELINED = 16
# Seconds: how long a refused client may take to read why, an answered one to end its body, and how
# long a client may read nothing of its answer.
_LINGER = 2.0
_DRAIN = 5.0
_STALLED = 60.0


class _Phase(Enum):
    """What a connection waits for."""

    HEAD = auto()
    BODY = auto()
    RESPONSE = auto()
    IDLE = auto()


# Python 3.11 looks an enumeration's members up slowly, and each request does so a dozen times.
_HEAD, _BODY, _RESPONSE, _IDLE = _Phase


class LimitedHttpProtocol(HttpToolsProtocol):
    """One connection.

    Of a client that has shown a certificate, requests carry the subject (ASGI's TLS extension,
    `client_cert_name`).

    Args:
        config: uvicorn's.
        state: What uvicorn's connections share.
        app_state: The lifespan's.
        connections: Counts this one, too.
    """

    address: str | None = None
    _client_cert_name: str | None = None
    _refusal: SluicegateError | None = None
    _refused = False

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
        self._since = self._now = connections.clock()  # `_now`: when bytes came last
        self._head = 0  # bytes of this request's line, headers and trailers
        self._received = 0  # bytes of its body
        self._events = 0  # what the parser has found so far, in all requests
        self._unfinished = 0  # bytes of a head so far, or in which it has found nothing
        self._ended = 0  # requests that have arrived to their end
        self._unsent = 0  # bytes that the client had not read when `_stalled_since` was set
        self._stalled_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A connection begins: with TLS, the handshake is over."""
        super().connection_made(transport)
        self._since = self._all.clock()
        refusal = self._all.admit(self, self.client[0] if self.client else None)
        if refusal is not None:
            self.refuse(refusal)
            return
        tls = transport.get_extra_info("ssl_object")
        certificate = None if tls is None else tls.getpeercert(binary_form=True)
        if certificate:
            self._client_cert_name = _subject(certificate)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection ended."""
        self._all.forget(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request, or of several."""
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
        """A request begins."""
        super().on_message_begin()
        self._enter(_HEAD)
        self._head = self._received = self._unfinished = 0
        if self._client_cert_name is not None:
            self.scope["extensions"] = {"tls": {"client_cert_name": self._client_cert_name}}

    def on_url(self, url: bytes) -> None:
        """A part of the target."""
        self._head += len(url)
        if self._head > self._max_head:
            self._refuse_head()
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer: trailers are never taken for headers."""
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
        """The head is complete: the application gets the request."""
        if len(self.pipeline) >= _MAX_PIPELINED:
            raise _Refused
        self._enter(_BODY)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._events += 1
        self._received += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request has arrived to its end."""
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
        """A response was handed to the transport; what is idle then is closed by `sweep`."""
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
            self._since = self._all.clock()  # from when the rest of the body may take `_DRAIN`

    def send_400_response(self, msg: str) -> None:
        """Refuse the request and close the connection: where the next one begins, nobody knows."""
        self.refuse(self._refusal or MalformedRequest("this is not a valid HTTP/1.1 request"))

    def refuse(self, error: SluicegateError) -> None:
        """Answer an error where that is still possible, and end the connection."""
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
            # Closed with bytes unread, TCP would reset the connection, and the client lose the answer.
            self._since = self._all.clock()
            self.transport.write_eof()
            self.flow.resume_reading()
        else:
            self.transport.close()

    def shutdown(self) -> None:
        """The server stops: end what nobody works on."""
        if self._refused:
            self.transport.abort()
        else:
            super().shutdown()

    def evict(self) -> None:
        """Close at once: another client needs the place."""
        self.transport.abort()

    def sweep(self, now: float, elapsed: float) -> None:
        """Close or refuse what is overdue.

        Args:
            now: Monotonic seconds.
            elapsed: Seconds since the sweep before.
        """
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
            self.transport.close()  # nothing was requested: a browser's connection in reserve

    def _sweep_body(self, now: float, elapsed: float) -> None:
        if self.cycle.response_complete:
            if now - self._since > _DRAIN:
                self.transport.abort()
        elif self.flow.read_paused:
            self._since += elapsed  # the application is slow, not the client
        elif now > self._limits.body_deadline(self._since, self._received):
            rate = self._limits.min_body_rate
            self.refuse(RequestTooSlow(f"the request's body came slower than {rate} bytes a second"))

    def _is_stalled(self, now: float) -> bool:
        """Whether the client has read nothing of its answer for too long."""
        unsent = self.transport.get_write_buffer_size()
        if not self.flow.write_paused or unsent != self._unsent:
            self._unsent, self._stalled_since = unsent, now
            return False
        return now - self._stalled_since > _STALLED

    def _is_answerable(self) -> bool:
        """Whether bytes that are written now are the response to the request that arrives."""
        if self.pipeline:
            return False
        cycle = self._cycle()
        if cycle is None or cycle.response_complete:
            return True
        return self._phase is not _HEAD and not cycle.response_started

    def _cycle(self) -> RequestResponseCycle | None:
        """The newest request; uvicorn's type does not say that a new connection has none."""
        return self.cycle

    def _enter(self, phase: _Phase) -> None:
        """Go on to what the parser has found in the bytes that came at `_now`."""
        self._events += 1
        self._phase = phase
        self._since = self._now

    def _refuse_head(self) -> None:
        self._refusal = self._head_too_large()
        raise _Refused

    def _head_too_large(self) -> SluicegateError:
        limit = self._max_head
        return HeadTooLarge(f"the request's headers and trailers are longer than {limit} bytes")


class _Refused(Exception):
    """Ends the parser's work on a request."""


def _subject(certificate: bytes) -> str:
    """The subject of a certificate, as RFC 4514 spells it."""
    from cryptography.x509 import load_der_x509_certificate

    return load_der_x509_certificate(certificate).subject.rfc4514_string()
