"""Queries that may be answered later (since-the-seed.md, capability `asyncquery` and "Get Query Info").

A query id *is* the query: signed, bound to recipient and table. So ids survive a restart, any replica
can answer them, and nothing has to be stored. The same request with the same key has the same id for
a day, and an id is known until the end of the next day (UTC).
"""

from __future__ import annotations

import base64
import binascii
import hmac
import time
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import orjson

from sluicegate.api import Principal, SharedTable
from sluicegate.errors import InvalidRequest, NotFound, SluicegateError
from sluicegate.http.responses import log_error
from sluicegate.keyring import KeyRing
from sluicegate.sharing import capabilities
from sluicegate.sharing.answer import VERSION_HEADER, Answer
from sluicegate.sharing.lines import line
from sluicegate.sharing.question import FILE_ID_HASH, Form, QueryRequest, Travel

if TYPE_CHECKING:
    from sluicegate.sharing.answers import TableAnswers

_TAG = 16
_DAY_SECONDS = 86_400
_LONGEST_ID = 4_000  # it is a part of an address


class AsyncQueries:
    """Answers at once what is quick, and by a query id what is not.

    A slow load goes on in the background when its caller stops to wait; the next poll joins it.

    Args:
        answers: What answers the queries. Loading it is a part of the first query.
        keys: Shared by all replicas.
        patience: Seconds to wait for an answer before it is pending.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        answers: Callable[[], Awaitable[TableAnswers]],
        keys: KeyRing,
        patience: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._answers = answers
        self._keys = keys
        self._patience = patience
        self._clock = clock

    async def submit(
        self, principal: Principal, shared: SharedTable, request: QueryRequest, form: Form
    ) -> Answer:
        """The answer, or one line that tells the query id.

        Raises:
            InvalidRequest: There is no idempotency key.
        """
        if request.idempotency_key is None:
            raise InvalidRequest("asyncquery=true needs an idempotencyKey in the body")
        if request.continues:
            return await self._now(principal, shared, request, form)
        query_id = self._sign(principal, shared, _state(request, form, self._today()))
        if len(query_id) > _LONGEST_ID:
            return await self._now(principal, shared, request, form)
        answer = await self._soon(principal, shared, request, form)
        return answer or _pending(query_id, form)

    async def info(
        self,
        principal: Principal,
        shared: SharedTable,
        query_id: str,
        paging: QueryRequest,
        form: Form,
    ) -> Answer:
        """What has become of a query: pending or failed as a status line, or its answer.

        Args:
            principal: Who asks.
            shared: The table that was queried.
            query_id: The id that `submit` answered.
            paging: `maxFiles` and `pageToken` of this poll.
            form: The form that the client can take.

        Raises:
            NotFound: The id is unknown, too old, or of another recipient or table.
        """
        state = self._open(principal, shared, query_id)
        request = replace(_request(state), max_files=paging.max_files, page_token=paging.page_token)
        form = replace(form, file_id_hash=form.file_id_hash or state["file_id_hash"])
        try:
            answer = await self._soon(principal, shared, request, form)
        except InvalidRequest:
            raise
        except SluicegateError as error:
            log_error(error)
            return _failed(query_id, error, form)
        return answer or _pending(query_id, form)

    async def _soon(
        self, principal: Principal, shared: SharedTable, request: QueryRequest, form: Form
    ) -> Answer | None:
        with anyio.move_on_after(self._patience):
            return await self._now(principal, shared, request, form)
        return None

    async def _now(
        self, principal: Principal, shared: SharedTable, request: QueryRequest, form: Form
    ) -> Answer:
        return await (await self._answers()).query(principal, shared, request, form)

    def _today(self) -> int:
        return int(self._clock()) // _DAY_SECONDS

    def _sign(self, principal: Principal, shared: SharedTable, state: dict[str, Any]) -> str:
        body = zlib.compress(orjson.dumps(state), 9)
        raw = _tag(self._keys.signing, principal, shared, body) + body
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    def _open(self, principal: Principal, shared: SharedTable, query_id: str) -> dict[str, Any]:
        gone = NotFound("there is no such query (any more): send the query again")
        try:
            padded = query_id + "=" * (-len(query_id) % 4)
            raw = base64.b64decode(padded, altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise gone from None
        tag, body = raw[:_TAG], raw[_TAG:]
        if not self._keys.accepts(tag, lambda key: _tag(key, principal, shared, body)):
            raise gone
        state: dict[str, Any] = orjson.loads(zlib.decompress(body))
        if state["day"] < self._today() - 1:
            raise gone
        return state


def _tag(key: bytes, principal: Principal, shared: SharedTable, body: bytes) -> bytes:
    bound = f"{principal.id}\n{shared.id}\n".encode()
    return hmac.digest(key, bound + body, "sha256")[:_TAG]


def _state(request: QueryRequest, form: Form, day: int) -> dict[str, Any]:
    return {
        "day": day,
        "key": request.idempotency_key,
        "version": request.travel.version,
        "timestamp": request.travel.timestamp,
        "limit": request.limit,
        "sql_hints": request.sql_hints,
        "json_hints": request.json_hints,
        "file_id_hash": form.file_id_hash,
    }


def _request(state: dict[str, Any]) -> QueryRequest:
    return QueryRequest(
        travel=Travel(state["version"], state["timestamp"]),
        limit=state["limit"],
        sql_hints=tuple(state["sql_hints"]),
        json_hints=state["json_hints"],
    )


def _pending(query_id: str, form: Form) -> Answer:
    return _status({"queryId": query_id, "status": "pending"}, form)


def _failed(query_id: str, error: SluicegateError, form: Form) -> Answer:
    status = {"queryId": query_id, "status": "failed", "errorCode": error.code}
    return _status({**status, "errorMessage": error.message}, form)


def _status(status: dict[str, Any], form: Form) -> Answer:
    """One status line; the version is not known yet, and clients want the header all the same."""
    headers = {
        VERSION_HEADER: "0",
        capabilities.HEADER: capabilities.encode(
            {"responseformat": form.capabilities.response_formats[0], "asyncquery": "true"}
        ),
    }
    if form.file_id_hash is not None:
        headers[FILE_ID_HASH] = form.file_id_hash
    return Answer.whole(headers, line({"queryStatus": status}))
