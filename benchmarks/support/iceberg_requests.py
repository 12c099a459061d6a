"""Requests of an Iceberg client for the synthetic table that a gateway shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from benchmarks.support.gateway import ServedGateway
from benchmarks.support.http import encode
from benchmarks.support.load import bodies

_TABLE = "/iceberg/v1/shares/sales/namespaces/eu/tables/orders"


@dataclass(frozen=True)
class Scan:
    """The requests of one scan, and the tasks that they are answered with."""

    requests: tuple[bytes, ...]
    tasks: list[dict[str, Any]]


def order_filter(low: int, high: int, dates: Sequence[str]) -> dict[str, Any]:
    """A filter of order ids from `low` up to `high`, excluding it, on some dates."""
    ids = {
        "type": "and",
        "left": {"type": "gt-eq", "term": "order_id", "value": low},
        "right": {"type": "lt", "term": "order_id", "value": high},
    }
    return {"type": "and", "left": ids, "right": {"type": "in", "term": "date", "values": [*dates]}}


class IcebergRequests:
    """Sends requests of the recipient."""

    def __init__(self, served: ServedGateway, headers: Mapping[str, str] | None = None) -> None:
        self._served = served
        self._headers = {"authorization": f"Bearer {served.token}", **(headers or {})}

    def get(self, path: str = "", headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The response to a GET of a path below the table."""
        return self._answer(self._encoded("GET", path, headers or {}, b""))

    def post(self, path: str, body: Mapping[str, Any]) -> bytes:
        """A request with a JSON object, for a path below the table, as it goes over the wire."""
        headers = {"content-type": "application/json"}
        return self._encoded("POST", path, headers, orjson.dumps(body))

    def scan(self, plan: Mapping[str, Any], enough: int | None = None) -> Scan:
        """Plan a scan, and fetch all of its tasks, or as many responses as have enough of them."""
        waiting, sent = [self.post("/plan", plan)], list[bytes]()
        tasks: list[dict[str, Any]] = []
        while waiting and (enough is None or len(tasks) < enough):
            sent.append(waiting.pop())
            answer = self._answer(sent[-1])
            tasks += answer.get("file-scan-tasks", [])
            named = answer.get("plan-tasks") or []
            waiting += [self.post("/tasks", {"plan-task": each}) for each in named]
        return Scan(tuple(sent), tasks)

    def _answer(self, request: bytes) -> dict[str, Any]:
        (answer,) = bodies(self._served.address, [request])
        found: dict[str, Any] = orjson.loads(answer)
        return found

    def _encoded(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
        url = f"{self._served.address}{_TABLE}{path}"
        return encode(method, url, {**self._headers, **headers}, body)
