"""uvicorn's HTTP protocol, which here says in JSON, like every door, what was wrong."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sluicegate.errors import MalformedRequest
from sluicegate.responses import error_response


class JsonHttpProtocol(HttpToolsProtocol):
    """Answers what is no HTTP request, and so reaches no application."""

    def send_400_response(self, msg: str) -> None:
        """Refuse the request and close the connection: where the next one begins, nobody knows."""
        refusal = error_response(MalformedRequest("this is not a valid HTTP/1.1 request"))
        headers = [*refusal.raw_headers, (b"connection", b"close")]
        head = b"".join(b"%s: %s\r\n" % header for header in headers)
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n%s\r\n%s" % (head, refusal.body))
        self.transport.close()
