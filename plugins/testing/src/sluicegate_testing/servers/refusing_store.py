"""A proxy of an S3 store that refuses to delete some objects, in the same way as S3."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from xml.etree import ElementTree

import httpx
import obstore

from sluicegate_testing.servers.seaweedfs import SeaweedFS

_HOP = frozenset({"connection", "content-length", "transfer-encoding", "content-encoding"})


class RefusingStore:
    """Forwards all requests except deletions, which it executes as the store's admin.

    Attributes:
        endpoint: Its URL.
        refuses: Whether a key must not be deleted. Can be changed at any time.
        refused: Keys whose deletion was requested and refused.
    """

    def __init__(self, server: SeaweedFS) -> None:
        self.server = server
        self.endpoint = ""
        self.refuses: Callable[[str], bool] = lambda key: False
        self.refused: list[str] = []

    def delete(self, bucket: str, body: bytes) -> bytes:
        """Respond to DeleteObjects."""
        keys = [each.text or "" for each in ElementTree.fromstring(body).iter() if _is_key(each)]  # noqa: S314 - from ourselves
        refused = [key for key in keys if self.refuses(key)]
        self.refused += refused
        obstore.delete(self.server.store(bucket=bucket), [key for key in keys if key not in refused])
        result = ElementTree.Element("DeleteResult")
        for key in keys:
            item = ElementTree.SubElement(result, "Error" if key in refused else "Deleted")
            ElementTree.SubElement(item, "Key").text = key
            if key in refused:
                ElementTree.SubElement(item, "Code").text = "AccessDenied"
                ElementTree.SubElement(item, "Message").text = "Access Denied."
        return ElementTree.tostring(result)


def _is_key(element: ElementTree.Element) -> bool:
    return element.tag.rpartition("}")[2] == "Key"


@contextmanager
def refusing_store(server: SeaweedFS) -> Iterator[RefusingStore]:
    """Serve a proxy in front of a store until the block ends."""
    proxy = RefusingStore(server)
    with httpx.Client(base_url=server.endpoint) as upstream:

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                path, _, query = self.path.partition("?")
                if self.command == "POST" and query.startswith("delete"):
                    self._answer(200, {}, proxy.delete(path.strip("/"), body))
                    return
                answer = upstream.request(
                    self.command, self.path, headers=dict(self.headers.items()), content=body
                )
                self._answer(answer.status_code, answer.headers, answer.content)

            do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815 - names of http.server

            def _answer(
                self, status: int, headers: httpx.Headers | dict[str, str], body: bytes
            ) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    if name.lower() not in _HOP:
                        self.send_header(name, value)
                length = headers.get("content-length") if self.command == "HEAD" else None
                self.send_header("Content-Length", length or str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Requests are not shown."""

        listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        listener.daemon_threads = True
        proxy.endpoint = f"http://127.0.0.1:{listener.server_address[1]}"
        thread = Thread(target=listener.serve_forever, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            listener.shutdown()
            listener.server_close()
            thread.join()
