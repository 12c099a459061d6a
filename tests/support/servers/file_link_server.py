"""Signed links to files behind a real server on loopback, over real directories."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sluicegate.api import LinkSigner, ObjectDirectory, Storage
from sluicegate.api.errors import SluicegateError
from sluicegate.http.responses import as_sluicegate_error, error_response
from sluicegate.protocols.file_links import ContentLinks, content_routes
from sluicegate.signing.keyring import KeyRing
from sluicegate_file.config import FileConfig
from sluicegate_file.storage import FileStorage

KEY = bytes(range(32))


@dataclass(frozen=True)
class FileLinkServer:
    """A server of signed links; `root` is the directory of its storage `files`."""

    url: str
    root: Path

    def write(self, name: str, content: bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def link(
        self,
        name: str,
        *,
        expires_in: int = 600,
        storage: str = "files",
        clock: Callable[[], float] = time.time,
    ) -> str:
        return ContentLinks(KEY, self.url, storage, clock).sign([name], expires_in).urls[0]


@contextmanager
def running_file_links(roots: Mapping[str, Path]) -> Iterator[FileLinkServer]:
    """Serve the files of these directories, each as the storage of its name."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        storages = {name: _storage(name, root, url) for name, root in roots.items()}
        server = uvicorn.Server(uvicorn.Config(_app(storages), log_config=None, access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.01)
            yield FileLinkServer(url, roots["files"])
        finally:
            server.should_exit = True
            thread.join()


@dataclass(frozen=True)
class _Context:
    name: str
    links: LinkSigner

    async def open(self, location: str) -> ObjectDirectory:
        raise NotImplementedError(location)


def _storage(name: str, root: Path, url: str) -> Storage:
    config = FileConfig(prefix=f"file://{root}")
    return FileStorage(config, _Context(name, ContentLinks(KEY, url, name)))


def _app(storages: Mapping[str, Storage]) -> Starlette:
    async def answer_error(_: Request, error: Exception) -> Response:
        return error_response(as_sluicegate_error(error))

    return Starlette(
        routes=content_routes(storages.get, KeyRing((KEY,))),
        exception_handlers={SluicegateError: answer_error, HTTPException: answer_error},
    )
