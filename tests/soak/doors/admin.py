"""The Admin API, as an owner uses it; and the audit log, in which each answer is found."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
from soak.site import SHARE
from soak.visitor import Operation, Visitor, sharing

_PREFIX = "/admin/v1"


class Admin:
    """Sends requests as an owner."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor

    async def ask(self, method: str, path: str, body: Any = None, **options: Any) -> httpx.Response:
        """See `Visitor.send`; all successful statuses are expected by default."""
        expected = options.pop("expected", {200, 201, 204})
        if body is not None:
            options["json"] = body
        return await self._visitor.send(
            "admin API",
            method,
            f"{_PREFIX}{path}",
            expected=expected,
            token=self._visitor.site.admin_token,
            **options,
        )


async def administration(visitor: Visitor) -> None:
    """What administrators read."""
    admin = Admin(visitor)
    share = (await admin.ask("GET", f"/shares/{SHARE}")).json()
    wrong = None if len(share["schemas"]) == 4 else f"the share is {share}"
    visitor.wrong("admin API", wrong)
    for path in (
        "/shares",
        "/recipients",
        "/ledger?maxResults=20",
        f"/shares/{SHARE}/grants",
        "/tasks?maxResults=20",
    ):
        await admin.ask("GET", path)
    catalog, target = visitor.random.choice([("unity", "unity catalog"), ("ice", "iceberg catalog")])
    await admin.ask("GET", f"/catalogs/{catalog}/schemas", needs={target})


async def audit(visitor: Visitor) -> None:
    """The record of a request exists when its answer arrives."""
    request = await audited_request(visitor)
    found = await Admin(visitor).ask("GET", "/audit", params=request.filters)
    visitor.wrong("admin API", request.wrong_records(found.json()["items"]))


class AuditedRequest:
    """A request that was answered, and what its audit record must contain."""

    def __init__(self, response: httpx.Response, recipient: str, resource: str) -> None:
        self.id = response.headers["x-request-id"]
        since = datetime.now(UTC) - timedelta(minutes=5)
        self.filters = {"requestId": self.id, "since": since.isoformat(timespec="milliseconds")}
        outcome = "allowed" if response.status_code == 200 else "refused"
        self.expected = {
            "actor": recipient,
            "resource": resource,
            "outcome": outcome,
            "status": response.status_code,
        }

    def wrong_records(self, records: list[dict[str, Any]]) -> str | None:
        """What is wrong with the records that were found."""
        found = [{name: each[name] for name in self.expected} for each in records]
        return None if found == [self.expected] else f"{found} must be {[self.expected]}"


async def audited_request(visitor: Visitor) -> AuditedRequest:
    """Send a request that is allowed, or one that is refused; nothing that fails affects it."""
    notes = visitor.site.table("local")
    door, token = "audited requests", visitor.token
    if visitor.random.random() < 0.5:
        answer = await visitor.get(door, sharing(notes, "/metadata"), token=token)
        return AuditedRequest(answer, visitor.recipient, notes.name)
    path = f"/delta-sharing/shares/{SHARE}/schemas/paths/tables/embargo/metadata"
    answer = await visitor.get(door, path, token=token, expected={404})
    return AuditedRequest(answer, visitor.recipient, f"{SHARE}.paths.embargo")


OPERATIONS = (
    Operation("administration", 2, administration),
    Operation("audit", 2, audit),
)
