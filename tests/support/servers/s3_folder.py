"""A local folder behind the reading half of the S3 API, with a record of the requests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from obstore.store import S3Store

if TYPE_CHECKING:
    from obstore.store import S3Credential

_BUCKET = "lake"
_HEADER = '<?xml version="1.0" encoding="UTF-8"?>'


@dataclass
class S3Folder:
    """The folder's bucket.

    Attributes:
        page: Keys that a listing returns at most.
    """

    endpoint: str
    root: Path
    requests: list[str] = field(default_factory=list)
    page: int = 1000
    status: int | None = None
    hidden: set[str] = field(default_factory=set)

    @property
    def store(self) -> S3Store:
        """An obstore store of the bucket that does not retry.

        As those of the storage plugins, it gets its credentials from a coroutine. They are expired when
        it gets them, so it asks for new ones before each request.
        """
        return S3Store(
            _BUCKET,
            endpoint=self.endpoint,
            region="us-east-1",
            credential_provider=_expired,
            virtual_hosted_style_request=False,
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )

    def listing(self, query: dict[str, list[str]]) -> bytes:
        """The answer to ListObjectsV2."""
        prefix = query.get("prefix", [""])[0]
        after = max(query.get("start-after", [""])[0], query.get("continuation-token", [""])[0])
        files = (path for path in self.root.rglob("*") if path.is_file())
        keys = sorted(key for path in files if (key := path.relative_to(self.root).as_posix()) > after)
        keys = [key for key in keys if key.startswith(prefix)]
        page, rest = keys[: self.page], keys[self.page :]
        contents = "".join(self._entry(key) for key in page)
        more = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if rest else ""
        truncated = str(bool(rest)).lower()
        return (
            f"{_HEADER}<ListBucketResult><IsTruncated>{truncated}</IsTruncated>{contents}{more}</ListBucketResult>"
        ).encode()

    def _entry(self, key: str) -> str:
        stat = (self.root / key).stat()
        return (
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            f'<ETag>"{stat.st_mtime_ns}-{stat.st_size}"</ETag><Size>{stat.st_size}</Size></Contents>'
        )


async def _expired() -> S3Credential:
    return {
        "access_key_id": "a key",
        "secret_access_key": "a secret",
        "expires_at": datetime(2026, 1, 1, tzinfo=UTC),
    }


@contextmanager
def serving_s3(root: Path) -> Iterator[S3Folder]:
    """The folder as a bucket on a free loopback port, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            key = unquote(url.path).removeprefix(f"/{_BUCKET}").removeprefix("/")
            if key:
                folder.requests.append(f"GET {key}")
                self._object(folder.root / ("hidden" if key in folder.hidden else key))
            else:
                query = parse_qs(url.query)
                folder.requests.append(f"LIST {query['prefix'][0]}")
                self._answer(200, folder.listing(query))

        def _object(self, path: Path) -> None:
            if not path.is_file():
                self._answer(404, f"{_HEADER}<Error><Code>NoSuchKey</Code></Error>".encode())
                return
            data = path.read_bytes()
            if "range" not in self.headers:
                self._answer(200, data)
                return
            first, last = self.headers["range"].removeprefix("bytes=").split("-")
            end = min(len(data), int(last) + 1)
            self._answer(206, data[int(first) : end], f"bytes {first}-{end - 1}/{len(data)}")

        def _answer(self, status: int, body: bytes, content_range: str | None = None) -> None:
            status = folder.status or status
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
            self.send_header("ETag", '"x"')
            if content_range is not None:
                self.send_header("Content-Range", content_range)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    folder = S3Folder(f"http://127.0.0.1:{server.server_port}", root)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield folder
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
