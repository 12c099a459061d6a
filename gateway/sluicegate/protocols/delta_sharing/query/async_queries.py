"""Asynchronous queries (Delta Sharing protocol, "asyncQuery" and "Get Query Info").

A query id *is* the query: signed, and bound to recipient and address. Ids therefore survive a restart,
any replica can serve them, and nothing needs to be stored. The same request with the same key has the
same id for one day. An id is valid until the end of the next day (UTC).
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import time
import weakref
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import orjson

from sluicegate._util.background_jobs import BackgroundJobs
from sluicegate._util.timers import call_later
from sluicegate.api import Principal, SharedTable
from sluicegate.api.errors import InvalidRequest, NotFound, SluicegateError
from sluicegate.audit.trail import Trail, in_trail, note_decision, note_rule
from sluicegate.database.names import name_key
from sluicegate.http.responses import log_error
from sluicegate.protocols.delta_sharing import negotiation
from sluicegate.protocols.delta_sharing.encoding.ndjson import line
from sluicegate.protocols.delta_sharing.request import (
    FILE_ID_HASH,
    QueryRequest,
    ResponseOptions,
    TimeTravel,
)
from sluicegate.protocols.delta_sharing.response import VERSION_HEADER, SharingResponse
from sluicegate.signing.keyring import KeyRing

if TYPE_CHECKING:
    from sluicegate.protocols.delta_sharing.query.execute import TableQueries

ASYNC_QUERY_THRESHOLD = 2.0
"""Seconds to wait for a snapshot before a query becomes pending. Clients pause longer between polls."""

_T = TypeVar("_T")

_KEPT_SECONDS = 60.0  # several polling intervals of clients; the Spark client's is 10 s
_MOST = 1_000  # a job and its outcome are small


@dataclass(frozen=True, slots=True, weakref_slot=True)
class _Run(Generic[_T]):
    """A job, and what its steps contributed."""

    task: asyncio.Task[_T]
    facts: Trail


class AsyncRuns(Generic[_T]):
    """Runs jobs by key, each in a separate task.

    Outcomes are cached for a while: a job that ends between two polls is not run again.
    """

    def __init__(self, background: BackgroundJobs) -> None:
        self._background = background
        self._runs: dict[Hashable, _Run[_T]] = {}

    async def wait(
        self,
        key: Hashable,
        job: Callable[[], Coroutine[Any, Any, _T]],
        seconds: float,
        *,
        kept: bool,
    ) -> asyncio.Task[_T] | None:
        """Wait for the job of a key, which is started if it is not running.

        Returns:
            The task once it is done, or `None` if it still runs.
        """
        run = self._runs.get(key)
        if run is None or (run.task.done() and not kept):
            run = self._start(key, job)
        timeout = None if len(self._runs) > _MOST else seconds
        done, _ = await asyncio.wait([run.task], timeout=timeout)
        note_decision(run.facts)
        return run.task if done else None

    def _start(self, key: Hashable, job: Callable[[], Coroutine[Any, Any, _T]]) -> _Run[_T]:
        facts = Trail()

        async def recorded() -> _T:
            with in_trail(facts):
                return await job()

        run = self._runs[key] = _Run(self._background.start(recorded()), facts)
        run.task.add_done_callback(lambda _: self._ended(key, run))
        return run

    def _ended(self, key: Hashable, run: _Run[_T]) -> None:
        if not run.task.cancelled():
            run.task.exception()  # retrieve it even if no request waits for it
        call_later(_KEPT_SECONDS, self._forget, key, weakref.ref(run))

    def _forget(self, key: Hashable, run: weakref.ref[_Run[_T]]) -> None:
        if (ended := run()) is not None and self._runs.get(key) is ended:
            del self._runs[key]


_TAG = 16
_DAY_SECONDS = 86_400
_LONGEST_ID = 4_000  # it is a part of the URL path


Find = Callable[[], Awaitable[SharedTable]]


@dataclass(frozen=True, slots=True)
class Address:
    """The recipient, and the table by the names in the URL path, which are case-insensitive."""

    principal: Principal
    names: tuple[str, str, str]

    @property
    def key(self) -> tuple[str, ...]:
        """The key by which two addresses are compared."""
        return (self.principal.id, *map(name_key, self.names))


class AsyncQueries:
    """Responds immediately to quick queries, and with a query id to slow ones.

    A query is quick if the table is found and its snapshot is loaded. Both continue in the background
    when their caller stops waiting, and the next poll joins them or finds them done. The rest works on
    data in memory and has nothing to wait for, so a poll that gets this far returns the result.
    """

    def __init__(
        self,
        queries: Callable[[], Awaitable[TableQueries]],
        keys: KeyRing,
        background: BackgroundJobs,
        threshold: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._table_queries = queries
        self._keys = keys
        self._threshold = threshold
        self._clock = clock
        self._runs: AsyncRuns[SharedTable] = AsyncRuns(background)

    async def submit(
        self, address: Address, find: Find, request: QueryRequest, form: ResponseOptions
    ) -> SharingResponse:
        """The response, or one line with the query id."""
        if request.idempotency_key is None:
            raise InvalidRequest("asyncquery=true needs an idempotencyKey in the body")
        if request.continues:
            return await self._now(address, await find(), request, form)
        query_id = self._sign(address, _state(request, form, self._today()))
        if len(query_id) > _LONGEST_ID:
            return await self._now(address, await find(), request, form)
        run = await self._loaded(address, find, request, kept=False)
        return (
            await self._now(address, run.result(), request, form) if run else _pending(query_id, form)
        )

    async def info(
        self, address: Address, find: Find, query_id: str, paging: QueryRequest, form: ResponseOptions
    ) -> SharingResponse:
        """The status of a query: a status line if it is pending or failed, otherwise its response.

        A page other than the first is never pending, because clients expect the response to continue.
        """
        state = self._open(address, query_id)
        shared = await find()  # access can have been revoked since an earlier poll
        request = _request(state, paging)
        form = replace(form, file_id_hash=form.file_id_hash or state["file_id_hash"])
        if request.continues:
            return await self._now(address, shared, request, form)

        async def found() -> SharedTable:
            return shared

        run = await self._loaded(address, found, request, kept=True)
        if run is None:
            return _pending(query_id, form)
        try:
            run.result()
            return await self._now(address, shared, request, form)
        except InvalidRequest:
            raise
        except SluicegateError as error:
            log_error(error)
            note_rule("query failed")
            return _failed(query_id, error, form)

    async def _loaded(
        self, address: Address, find: Find, request: QueryRequest, *, kept: bool
    ) -> asyncio.Task[SharedTable] | None:
        """The run that loads the snapshot of a query, if it completes soon."""

        async def load() -> SharedTable:
            shared = await find()
            queries = await self._table_queries()
            await queries.load(address.principal, shared, request)
            return shared

        key = (*address.key, request.travel)
        return await self._runs.wait(key, load, self._threshold, kept=kept)

    async def _now(
        self, address: Address, shared: SharedTable, request: QueryRequest, form: ResponseOptions
    ) -> SharingResponse:
        return await (await self._table_queries()).query(address.principal, shared, request, form)

    def _today(self) -> int:
        return int(self._clock()) // _DAY_SECONDS

    def _sign(self, address: Address, state: dict[str, Any]) -> str:
        body = zlib.compress(orjson.dumps(state), 9)
        raw = _tag(self._keys.signing, address, body) + body
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    def _open(self, address: Address, query_id: str) -> dict[str, Any]:
        gone = NotFound("the query does not exist or has expired: send the query again")
        try:
            padded = query_id + "=" * (-len(query_id) % 4)
            raw = base64.b64decode(padded, altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise gone from None
        tag, body = raw[:_TAG], raw[_TAG:]
        if not self._keys.accepts(tag, lambda key: _tag(key, address, body)):
            raise gone
        state: dict[str, Any] = orjson.loads(zlib.decompress(body))
        if state["day"] < self._today() - 1:
            raise gone
        return state


def _tag(key: bytes, address: Address, body: bytes) -> bytes:
    bound = hashlib.sha256(repr(address.key).encode()).digest()
    return hmac.digest(key, bound + body, "sha256")[:_TAG]


def _state(request: QueryRequest, form: ResponseOptions, day: int) -> dict[str, Any]:
    return {
        "day": day,
        "key": request.idempotency_key,
        "version": request.travel.version,
        "timestamp": request.travel.timestamp,
        "limit": request.limit,
        "sql_hints": request.sql_hints,
        "json_hints": request.json_hints,
        "file_id_hash": form.file_id_hash,
        "refresh": request.include_refresh_token,
    }


def _request(state: dict[str, Any], paging: QueryRequest) -> QueryRequest:
    first = paging.page_token is None
    return QueryRequest(
        travel=TimeTravel(state["version"], state["timestamp"]),
        limit=state["limit"],
        sql_hints=tuple(state["sql_hints"]),
        json_hints=state["json_hints"],
        max_files=paging.max_files,
        page_token=paging.page_token,
        include_refresh_token=first and state.get("refresh", False),
    )


def _pending(query_id: str, form: ResponseOptions) -> SharingResponse:
    return _status({"queryId": query_id, "status": "pending"}, form)


def _failed(query_id: str, error: SluicegateError, form: ResponseOptions) -> SharingResponse:
    status = {"queryId": query_id, "status": "failed", "errorCode": error.code}
    return _status({**status, "errorMessage": error.message}, form)


def _status(status: dict[str, Any], form: ResponseOptions) -> SharingResponse:
    """One status line. The version is not known yet, but clients require the header anyway."""
    headers = {
        VERSION_HEADER: "0",
        negotiation.HEADER: negotiation.encode(
            {"responseformat": form.capabilities.response_formats[0], "asyncquery": "true"}
        ),
    }
    if form.file_id_hash is not None:
        headers[FILE_ID_HASH] = form.file_id_hash
    return SharingResponse.whole(headers, line({"queryStatus": status}))
