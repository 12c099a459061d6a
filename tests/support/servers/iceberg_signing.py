"""The sign endpoint of one table behind a real server on loopback, over a real store."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from support.gateways.memory_gateway import KEYS, catalog_table, memory_gateway, shared_table
from support.gateways.memory_grants import ACME
from support.gateways.parts import gateway_parts

from sluicegate._util.lazy import Lazy
from sluicegate.api import Storage
from sluicegate.api.errors import SluicegateError
from sluicegate.config import Settings
from sluicegate.http.responses import as_sluicegate_error, error_response
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.iceberg_rest.assembly import lazy_files, store_route
from sluicegate.protocols.iceberg_rest.file_access.file_paths import FilePaths
from sluicegate.protocols.iceberg_rest.file_access.generated_links import GeneratedLinks
from sluicegate.protocols.iceberg_rest.file_access.sign import RequestSigner
from sluicegate.protocols.iceberg_rest.file_access.sign_request import store_endpoint
from sluicegate.protocols.iceberg_rest.file_access.store_endpoint import signing_config
from sluicegate.protocols.iceberg_rest.file_routes import FileService

SIGN = "v1/shares/sales/namespaces/eu/tables/orders/sign"
_LIFETIME = 3600


@dataclass
class SigningServer:
    """A server whose only table is at a location."""

    url: str
    table: OpenTable
    requests: list[tuple[dict[str, Any], int]] = field(default_factory=list)

    def paths(self, *paths: str) -> list[str]:
        """Paths of files for clients."""
        table, version = self.table, 3
        view = FilePaths(KEYS, _LIFETIME).of_view(table.principal, table.shared, table.source, version)
        return view.of(paths)

    @property
    def config(self) -> dict[str, str]:
        """The table's configuration for clients."""
        return signing_config(
            catalog_uri=f"{self.url}/iceberg",
            sign_endpoint=SIGN,
            store_endpoint=store_endpoint(self.url),
            server_planning=True,
        )


@contextmanager
def signing_server(storage: Storage, location: str) -> Iterator[SigningServer]:
    """Serve the sign endpoint of the table at a location until the block ends."""
    gateway = memory_gateway(more_storage=[storage])
    source = catalog_table(location=location)
    opened = OpenTable(ACME, shared_table(), source, storage, directory=None)  # type: ignore[arg-type]
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        served = SigningServer(f"http://127.0.0.1:{listener.getsockname()[1]}", opened)
        signer = RequestSigner(
            FilePaths(KEYS, _LIFETIME),
            gateway.signer,
            GeneratedLinks(KEYS, served.url, _LIFETIME),
            store_endpoint(served.url),
        )
        settings = Settings.model_validate({"public_url": served.url})
        files = lazy_files(gateway_parts(gateway, settings))
        server = uvicorn.Server(
            uvicorn.Config(_app(served, signer, files), log_config=None, access_log=False)
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.01)
            yield served
        finally:
            server.should_exit = True
            thread.join()


def _app(served: SigningServer, signer: RequestSigner, files: Lazy[FileService]) -> Starlette:
    async def sign(request: Request) -> Response:
        body = await request.json()
        try:
            response = (await signer.sign(served.table, body)).response()
        except SluicegateError as error:
            response = error_response(error)
        served.requests.append((body, response.status_code))
        return response

    async def answer_error(_: Request, error: Exception) -> Response:
        return error_response(as_sluicegate_error(error))

    return Starlette(
        routes=[Route(f"/iceberg/{SIGN}", sign, methods=["POST"]), store_route(files.get)],
        exception_handlers={SluicegateError: answer_error, HTTPException: answer_error},
    )
