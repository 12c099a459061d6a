"""Catalogs, the ledger and tasks over the Admin API."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import jsonschema_rs
import pytest
from admin.conftest import Site
from support.servers.delegation import payload

from sluicegate.api.assets.models import AssetKind
from sluicegate.api.catalogs import Catalog
from sluicegate.api.errors import NotFound, Unavailable
from sluicegate.api.models import CatalogTable, ListedTable, TablePage
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.delegation.queue.encryption import PayloadCipher
from sluicegate.delegation.queue.leases import Leases
from sluicegate.delegation.queue.tasks import TaskQueue
from sluicegate.vending.entries import LedgerEntry
from sluicegate.vending.ledger import Ledger


class Shelf(Catalog):
    """A catalog with pages of two tables, and a schema that fails."""

    async def list_schemas(self) -> list[str]:
        return ["a/b", "broken"]

    async def list_tables(self, schema: str) -> list[str]:
        return [f"t{number}" for number in range(5)]

    async def table_page(self, schema: str, token: str | None) -> TablePage:
        if schema == "broken":
            raise Unavailable("the catalog does not respond", detail="secret.internal")
        if schema != "a/b":
            raise NotFound(f"there is no schema '{schema}'")
        start = int(token or 0)
        names = (await self.list_tables(schema))[start : start + 2]
        more = str(start + 2) if start + 2 < 5 else None
        return TablePage([ListedTable(name) for name in names], more)

    def identifier(self, schema: str, table: str) -> str:
        return f"{schema}.{table}"

    async def load_table(self, identifier: str) -> CatalogTable:
        raise NotFound(identifier)

    async def listed_assets(self, kind: AssetKind, schema: str) -> list[Any]:
        return []


@pytest.fixture
def shelf(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(site.gateway.parts.instances.catalogs, "raw", Shelf())


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("size", [1, 2, 3, 500])
async def test_tables_of_a_catalog_are_listed_in_pages(site: Site, size: int) -> None:
    assert (await site.ask("GET", "/catalogs")).json == {"items": [{"name": "raw", "type": "paths"}]}
    schemas = (await site.ask("GET", "/catalogs/raw/schemas")).json["items"]
    assert [each["name"] for each in schemas] == ["a/b", "broken"]
    assert "cannot contain a slash" in schemas[0]["left_out"]
    listing = f"/catalogs/raw/tables?schema=a%2Fb&maxResults={size}"
    found, more = [], ""
    for _ in range(9):
        answer = (await site.ask("GET", listing + more)).json
        assert len(answer["items"]) <= size
        found += [each["table"] for each in answer["items"]]
        if "nextPageToken" not in answer:
            break
        more = f"&pageToken={answer['nextPageToken']}"
    assert found == [f"a/b.t{number}" for number in range(5)]


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/catalogs/raw/tables?schema=broken", 503, "does not respond"),
        ("/catalogs/raw/tables?schema=none", 404, "no schema 'none'"),
        ("/catalogs/raw/tables", 400, "schema is missing"),
        ("/catalogs/row/schemas", 404, "did you mean 'raw'?"),
        ("/catalogs/raw/tables?schema=%00", 400, "null character"),
    ],
)
async def test_errors_of_catalogs_are_reported_without_their_details(
    site: Site, path: str, status: int, message: str
) -> None:
    answer = await site.ask("GET", path)
    assert (answer.status, message in answer.json["message"]) == (status, True)
    assert b"secret" not in answer.body


async def test_a_catalog_that_lists_nothing_gives_a_reason(site: Site) -> None:
    answer = (await site.ask("GET", "/catalogs/raw/schemas")).json
    assert (answer["items"], bool(answer["reason"])) == ([], True)


def entry(number: int, share: str) -> LedgerEntry:
    return LedgerEntry(
        id=str(uuid4()),
        given_at=1_800_000_000_000 + number // 2,  # two at a time
        issued_at=1_800_000_000_000,
        expires_at=None,
        kind="urls",
        cloud=None,
        binding=None,
        recipient_id="1",
        recipient="acme",
        share=share,
        schema="eu",
        table=f"t{number}",
        table_id="2",
        locations=("s3://bucket/t",),
        files=1,
        address=None,
        request_id=None,
    )


async def test_the_ledger_is_listed_in_pages_newest_first(site: Site) -> None:
    entries = [entry(number, "sales" if number < 5 else "returns") for number in range(7)]
    ledger = Ledger(site.gateway.parts.store, retention=10**9)
    for each in entries:
        await ledger.write(each)
    found, more = [], ""
    for _ in range(9):
        answer = (await site.ask("GET", f"/ledger?maxResults=3{more}")).json
        found += [(each["given_at"], each["table"]) for each in answer["items"]]
        if "nextPageToken" not in answer:
            break
        more = f"&pageToken={answer['nextPageToken']}"
    assert {table for _, table in found} == {each.table for each in entries}
    assert (len(found), [at for at, _ in found]) == (7, sorted((at for at, _ in found), reverse=True))
    of_share = (await site.ask("GET", "/ledger?share=RETURNS&kind=urls&active=true")).json["items"]
    assert {each["table"] for each in of_share} == {"t5", "t6"}
    assert (await site.ask("GET", "/ledger?since=2030-01-01T00:00:00Z")).json == {"items": []}


async def test_an_administrator_of_some_shares_reads_only_their_ledger(site: Site) -> None:
    for path, status in (("", 403), ("?share=sales", 403), ("?share=returns", 200)):
        answer = await site.ask("GET", f"/ledger{path}", role="viewer", shares=("returns",))
        assert answer.status == status
    assert (await site.ask("GET", "/ledger?kind=url")).json["message"].endswith("did you mean 'urls'?")


async def test_usage_is_summed_for_the_shares_of_an_administrator(site: Site) -> None:
    ledger = Ledger(site.gateway.parts.store, retention=10**9)
    for number in range(6):
        await ledger.write(entry(number, "sales" if number < 4 else "returns"))
    days = "since=2027-01-01&until=2027-01-31"
    answer = (await site.ask("GET", f"/usage?{days}", role="viewer")).json
    assert answer == {
        "by": "day",
        "since": "2027-01-01",
        "until": "2027-01-31",
        "items": [{"day": "2027-01-15", **used(6)}],
        "total": used(6),
        "truncated": False,
    }
    for by, items in (
        ("recipient", [{"recipient": "acme", **used(2)}]),
        ("share", [{"share": "returns", **used(2)}]),
        (
            "table",
            [
                {"share": "returns", "schema": "eu", "table": f"t{n}", "asset": None, **used(1)}
                for n in (4, 5)
            ],
        ),
    ):
        mine = await site.ask("GET", f"/usage?{days}&by={by}", role="viewer", shares=("returns",))
        assert (mine.json["items"], mine.json["total"]) == (items, used(2))
    refused = await site.ask("GET", "/usage?share=sales", role="viewer", shares=("returns",))
    assert refused.status == 403
    cut = (await site.ask("GET", f"/usage?{days}&by=table&limit=2")).json
    assert (len(cut["items"]), cut["truncated"], cut["total"]) == (2, True, used(6))


def used(responses: int) -> dict[str, Any]:
    """Usage of responses with one file each."""
    return {"responses": responses, "credentials": 0, "files": responses, "bytes": None}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("by=hour", "by must be day, recipient, share or table, not 'hour'"),
        ("since=2026-13-01", "since must be a date"),
        ("until=1969-01-01", "until must be a date"),
        ("since=2026-02-01&until=2026-01-01", "since must not be after until"),
        ("limit=0", "limit must be between 1 and 10000"),
        ("day=1", "unknown parameter 'day'"),
    ],
)
async def test_wrong_parameters_of_usage_are_explained(site: Site, query: str, message: str) -> None:
    answer = await site.ask("GET", f"/usage?{query}")
    assert (answer.status, message in answer.json["message"]) == (400, True), answer.body


async def test_tasks_are_listed_shown_cancelled_and_retried(site: Site) -> None:
    queue = TaskQueue(site.gateway.parts.store, PayloadCipher.of(site.gateway.parts.settings))
    ids = [(await queue.submit(payload(f"t{number}"), "polaris")).id for number in range(3)]
    first = (await site.ask("GET", "/tasks?maxResults=2")).json
    second = (await site.ask("GET", f"/tasks?maxResults=2&pageToken={first['nextPageToken']}")).json
    listed = [each["task_id"] for page in (first, second) for each in page["items"]]
    assert (sorted(listed), len(first["items"])) == (sorted(ids), 2)
    shown = (await site.ask("GET", f"/tasks/{ids[0]}")).json
    assert (shown["status"], [each["status"] for each in shown["versions"]]) == (
        "SUBMITTED",
        ["SUBMITTED"],
    )
    ended = await site.ask("POST", f"/tasks/{ids[0]}/cancel")
    assert (ended.status, ended.json["status"]) == (200, "FAILURE")
    again = await site.ask("POST", f"/tasks/{ids[0]}/cancel")
    assert (again.status, again.json["errorCode"]) == (409, "TASK_ENDED")
    assert (await site.ask("POST", f"/tasks/{ids[0]}/retry")).json["status"] == "SUBMITTED"
    assert (await site.ask("GET", "/tasks?status=FAILURE")).json == {"items": []}
    assert (await site.ask("GET", "/tasks?status=DONE")).status == 400
    assert (await site.ask("GET", "/tasks/none")).status == 404


async def test_workers_are_listed_with_their_tasks(site: Site) -> None:
    queue = TaskQueue(site.gateway.parts.store, PayloadCipher.of(site.gateway.parts.settings))
    leases = Leases(site.gateway.parts.store, DelegationSettings())
    for worker in ("b", "a", "b"):
        await queue.submit(payload(f"{worker}-{uuid4()}"), "polaris")
        leased = await leases.acquire(worker, ["TABLE_PURGE"])
        assert leased is not None
        if worker == "a":
            await leases.start(leased)
    await queue.submit(payload("waits"), "polaris")
    first = (await site.ask("GET", "/workers?maxResults=1", role="viewer")).json
    more = f"&pageToken={first['nextPageToken']}"
    second = (await site.ask("GET", f"/workers?maxResults=1{more}", role="viewer")).json
    found = {each["worker"]: each["tasks"] for page in (first, second) for each in page["items"]}
    assert {name: len(tasks) for name, tasks in found.items()} == {"a": 1, "b": 2}
    assert [each["status"] for each in found["a"]] == ["RUNNING"]
    assert {each["status"] for each in found["b"]} == {"ACQUIRING_RESOURCES"}
    assert not any(each["lease_expired"] for tasks in found.values() for each in tasks)
    assert (await site.ask("GET", "/workers", role="viewer", shares=("sales",))).status == 403
    components = (await site.ask("GET", "/openapi.json", role=None)).json["components"]
    described = {"$ref": "#/components/schemas/Workers", "components": components}
    jsonschema_rs.validator_for(described, validate_formats=True).validate(first)
