"""Serves GET and HEAD of objects as S3 does, for requests that are signed with keys of the gateway."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from sluicegate.access.grants import Grants
from sluicegate.api import NotFound, Principal
from sluicegate.audit.trail import note_claim
from sluicegate.http.concurrency_limit import slots_of
from sluicegate.http.responses import as_sluicegate_error
from sluicegate.protocols.common.iceberg_eligibility import check_urls
from sluicegate.protocols.common.recipient_links import link_recipient
from sluicegate.protocols.common.resolver import OpenTable, Resolver
from sluicegate.protocols.iceberg_rest.file_access.file_paths import BUCKET
from sluicegate.protocols.iceberg_rest.file_access.sign_request import ENDPOINT_PATH, OPERATIONS
from sluicegate.protocols.iceberg_rest.file_access.store_endpoint import LISTING, MISSING_FILE
from sluicegate.protocols.iceberg_rest.store.errors import (
    DENIED,
    StoreRefusal,
    in_s3_format,
    refused,
)
from sluicegate.protocols.iceberg_rest.store.keys import StoreKey, StoreKeys
from sluicegate.protocols.iceberg_rest.store.reader import FileReader
from sluicegate.protocols.iceberg_rest.store.recent_reads import RecentReads
from sluicegate.protocols.iceberg_rest.store.signature import RawRequest, Signature
from sluicegate.telemetry import name_recipient
from sluicegate.vending import Vending

_METHOD = "store key"


@dataclass(frozen=True, slots=True)
class _Served:
    """A response, and the read that its record covers from then on."""

    response: Response
    read: bytes | None = None


class StoreEndpoint:
    """An ASGI endpoint.

    A key proves only who sends a request. What its recipient can read is decided for each request, by
    the steps of requests that are sent to be signed.
    """

    def __init__(
        self,
        keys: StoreKeys,
        grants: Grants,
        vending: Vending,
        resolver: Resolver,
        reader: FileReader,
        endpoint: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._keys = keys
        self._grants = grants
        self._vending = vending
        self._resolver = resolver
        self._reader = reader
        public = urlsplit(endpoint)
        self._host = public.netloc
        self._path_prefix = public.path.removesuffix(ENDPOINT_PATH).encode()
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. Its body is not read."""
        async with AsyncExitStack() as held:
            served = await self._served(Request(scope, receive), held)

            async def send_recorded(message: Message) -> None:
                await send(message)
                started = message["type"] == "http.response.start"
                if started and served.read is not None and message["status"] < 400:
                    self._reader.recent.add(served.read)

            await served.response(scope, receive, send_recorded)

    async def _served(self, request: Request, held: AsyncExitStack) -> _Served:
        try:
            return await self._read(request, held)
        except Exception as error:
            response = refused(as_sluicegate_error(error), request.method)
            if request.method not in OPERATIONS:  # its content would be read as the next request
                response.headers["Connection"] = "close"
            return _Served(response)

    async def _read(self, request: Request, held: AsyncExitStack) -> _Served:
        note_claim(_METHOD)
        if request.method not in OPERATIONS:
            raise _denied("the files of a shared table can only be read")
        if request.scope["path"] == f"{ENDPOINT_PATH}/{BUCKET}/{LISTING}":
            raise NotFound(MISSING_FILE)
        signature, key = self._authenticate(request)
        principal = await self._admit(request, key)
        object_key = _object_key(request, signature)
        table = await self._open(principal, key)
        await held.enter_async_context(self._reader.turn(principal.id, request.method))
        names = (key.table_id, principal.id, principal.address or "", signature.access_key_id)
        read = RecentReads.of(*names, request.method, object_key)
        response = await self._reader.read(table, object_key, read, request.method, request.headers)
        return _Served(in_s3_format(response, request.method), read)

    def _authenticate(self, request: Request) -> tuple[Signature, StoreKey]:
        """The signature of a request, and the key that it was signed with."""
        scope = request.scope
        query, headers = scope["query_string"], scope["headers"]
        raw = RawRequest(request.method, raw_path(scope), query, headers)
        signature = Signature.parse(raw)
        opened = self._keys.open(signature.access_key_id, signature.token)
        # A proxy can replace the host, so that of the public URL is accepted, too.
        hosts = (self._host, request.headers.get("host", ""))
        signature.check(opened.secret, hosts, self._path_prefix)
        signature.check_time(self._clock())
        self._keys.check_current(opened.key)
        return signature, opened.key

    async def _admit(self, request: Request, key: StoreKey) -> Principal:
        """The recipient of a key, whose limits count the request."""
        slots = slots_of(request.scope)
        if slots is not None:
            await slots.enter(None)
        address = request.client and request.client.host
        principal = await link_recipient(
            self._grants, key.recipient, key.recipient_id, address, _METHOD
        )
        name_recipient(principal.name)
        if slots is not None:
            slots.name(principal.id)
        if key.issued_at <= await self._vending.revoked_before(principal):
            message = "this key was issued before the recipient was revoked: load the table again"
            raise StoreRefusal(DENIED, message).decided_by("authentication")
        return principal

    async def _open(self, principal: Principal, key: StoreKey) -> OpenTable:
        """The table of a key, if it is still shared with the recipient."""
        try:
            shared = await self._resolver.table(principal, key.share, key.schema, key.table)
            if shared.id != key.table_id:
                raise NotFound(f"{shared.full_name} is another table now")
            check_urls(shared)
            return await self._resolver.open(principal, shared)
        except NotFound as error:
            message = "the table of this key is no longer shared with you: load the table again"
            raise StoreRefusal(DENIED, f"{message} ({error.message})") from error


def raw_path(scope: Scope) -> bytes:
    """The path of a request as it was sent, without the query."""
    path: bytes = scope["raw_path"]
    return path.partition(b"?")[0]


def _object_key(request: Request, signature: Signature) -> str:
    """The key of the requested object."""
    start = f"{ENDPOINT_PATH}/{BUCKET}/"
    path: str = request.scope["path"]
    operation = OPERATIONS[request.method].encode()
    if any(b"=".join(pair) != operation for pair in signature.others):
        raise _denied("only objects can be read, not listings, versions or other subresources")
    if not path.startswith(start) or path == start:
        raise _denied("only files of the table can be read, by the paths in its metadata")
    return path.removeprefix(start)


def _denied(message: str) -> StoreRefusal:
    return StoreRefusal(DENIED, message).decided_by("request")
