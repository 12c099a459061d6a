"""uvicorn's HTTP protocol, which here says in JSON what was wrong, and who has connected."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sluicegate.errors import MalformedRequest
from sluicegate.http.responses import error_response


class JsonHttpProtocol(HttpToolsProtocol):
    """Answers what is no HTTP request, and so reaches no application.

    Of a client that has shown a certificate, requests carry the subject (ASGI's TLS extension,
    `client_cert_name`).
    """

    _client_cert_name: str | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A connection begins: with TLS, the handshake is over."""
        super().connection_made(transport)
        tls = transport.get_extra_info("ssl_object")
        certificate = None if tls is None else tls.getpeercert(binary_form=True)
        if certificate:
            self._client_cert_name = _subject(certificate)

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        if self._client_cert_name is not None:
            self.scope["extensions"] = {"tls": {"client_cert_name": self._client_cert_name}}

    def send_400_response(self, msg: str) -> None:
        """Refuse the request and close the connection: where the next one begins, nobody knows."""
        refusal = error_response(MalformedRequest("this is not a valid HTTP/1.1 request"))
        headers = [*refusal.raw_headers, (b"connection", b"close")]
        head = b"".join(b"%s: %s\r\n" % header for header in headers)
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n%s\r\n%s" % (head, refusal.body))
        self.transport.close()


def _subject(certificate: bytes) -> str:
    """The subject of a certificate, as RFC 4514 spells it."""
    from cryptography.x509 import load_der_x509_certificate

    return load_der_x509_certificate(certificate).subject.rfc4514_string()
