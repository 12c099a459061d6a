"""Changes of single resources depend only on what is around them, and are computed without a lock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from admin.conftest import Site, together
from sqlalchemy import event, update
from support.clients.asgi import Answer

from sluicegate.database import Store
from sluicegate.database.statements.similar_names import similar_names
from sluicegate.database.tables import recipients, schemas, shared_tables

SCHEMA = "/shares/sales/schemas/eu"
OTHER = {"catalog": "raw", "table": "file:///srv/other"}


async def test_a_change_of_a_table_does_not_depend_on_its_neighbors(site: Site) -> None:
    async with (
        site.gateway.parts.store.write() as connection
    ):  # as if the catalog was configured before
        await connection.execute(update(shared_tables).values(catalog="gone"))
    assert (await site.ask("PUT", f"{SCHEMA}/tables/other", OTHER)).status == 201
    refused = await site.ask("PUT", f"{SCHEMA}/tables/orders", {**OTHER, "catalog": "gone"})
    assert refused.status == 400
    assert "there is no catalog 'gone' in the configuration" in refused.json["message"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", f"{SCHEMA}/tables/t7", None),
        ("PUT", f"{SCHEMA}/tables/t7", {**OTHER, "comment": "changed"}),
        ("GET", "/recipients/acme", None),
        ("PUT", "/recipients/acme", {"shares": ["sales", "returns"]}),
        ("PUT", "/recipients/acme/grants/returns", None),
        ("DELETE", "/recipients/acme/grants/sales", None),
        ("POST", "/recipients/acme/tokens", {}),
    ],
)
async def test_no_request_reads_the_neighbors(site: Site, method: str, path: str, body: Any) -> None:
    tables = {f"t{number}": OTHER for number in range(50)}
    assert (await site.ask("PUT", SCHEMA, {"tables": tables})).status == 200
    assert await _most_rows(site, method, path, body) <= 3


@pytest.mark.parametrize(
    "path",
    [
        "/shares",
        "/shares/sales/grants",
        "/recipients",
        "/access",
        "/limits",
    ],
)
async def test_a_page_of_a_list_reads_no_other_pages(site: Site, path: str) -> None:
    names = [f"n{number}" for number in range(40)]
    content = {
        "shares": {name: {} for name in names},
        "recipients": {name: {"shares": ["sales", name]} for name in names},
    }
    assert (await site.ask("POST", "/apply", content)).status == 200
    assert await _most_rows(site, "GET", f"{path}?maxResults=2") <= 2 * 3


async def _most_rows(site: Site, method: str, path: str, body: Any = None) -> int:
    """The rows that one of the statements of a request has read, at most."""
    await site.token("owner")
    read: list[int] = []
    async with site.gateway.parts.store.read() as connection:
        engine = connection.sync_engine

    def count(_connection: Any, cursor: Any, *_: object) -> None:
        read.append(len(cursor._rows))  # what the driver has fetched

    event.listen(engine, "after_cursor_execute", count)
    try:
        answer = await site.ask(method, path, body)
    finally:
        event.remove(engine, "after_cursor_execute", count)
    assert answer.status < 300, answer.body
    assert max(read) > 0
    return max(read)


async def test_an_id_of_a_table_in_another_share_is_refused(site: Site) -> None:
    known = str(uuid4())
    assert (await site.ask("PUT", f"{SCHEMA}/tables/a", {**OTHER, "id": known})).status == 201
    refused = await site.ask("PUT", "/shares/returns/schemas/eu/tables/b", {**OTHER, "id": known})
    assert (refused.status, refused.json["message"]) == (
        400,
        "shares.returns.schemas.eu.tables.b.id: the table sales.eu.a has this id already",
    )
    limited = await site.ask(
        "PUT",
        "/shares/returns/schemas/eu/tables/b",
        {**OTHER, "id": known},
        role="admin",
        shares=("returns",),
    )
    assert limited.json["message"].endswith(": another table has this id already")
    assert (await site.ask("DELETE", f"{SCHEMA}/tables/a")).status == 204
    again = await site.ask("PUT", "/shares/returns/schemas/eu/tables/b", {**OTHER, "id": known})
    assert again.status == 201


async def test_a_table_in_an_unknown_schema_gets_a_suggestion(site: Site) -> None:
    refused = await site.ask("PUT", "/shares/sales/schemas/euu/tables/orders", OTHER)
    assert refused.status == 404
    assert refused.json["message"] == "there is no schema 'euu'; did you mean 'eu'?"


async def test_a_grant_of_an_unknown_share_gets_a_suggestion(site: Site) -> None:
    refused = await site.ask("PUT", "/recipients/acme", {"shares": ["sale"]})
    assert refused.status == 400
    assert refused.json["message"].endswith("there is no share 'sale'; did you mean 'sales'?")


async def test_all_of_many_concurrent_changes_are_made(site: Site) -> None:
    def put(number: int) -> Any:
        return site.ask("PUT", f"{SCHEMA}/tables/t{number}", OTHER)

    answers = await together(*map(put, range(12)))
    assert {each.status for each in answers} == {201}
    tables = (await site.ask("GET", SCHEMA)).json["tables"]
    assert sorted(tables) == sorted(["orders", *(f"t{number}" for number in range(12))])


async def test_a_condition_is_checked_again_if_others_write_meanwhile(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = await site.ask("GET", "/recipients/acme")
    await _write_before_commit(site, monkeypatch, "/recipients/acme", {"comment": "another's"})
    answer = await site.ask(
        "PUT", "/recipients/acme", {"comment": "mine"}, headers={"If-Match": read.headers["etag"]}
    )
    assert answer.status == 412
    assert (await site.ask("GET", "/recipients/acme")).json["comment"] == "another's"


async def test_a_change_is_made_although_others_write_all_the_time(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _write_before_commit(site, monkeypatch, "/recipients/both", {}, times=3)
    answer = await site.ask("PUT", "/recipients/acme", {"comment": "mine"})
    assert (answer.status, answer.json) == (200, {"name": "acme", "comment": "mine"})


async def _write_before_commit(
    site: Site, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any], times: int = 1
) -> None:
    """Let others change a resource between the computation of a change and its transaction."""
    left = times
    write: Callable[..., Any] = Store.write

    def after_another(store: Store, *kinds: Any) -> Any:
        nonlocal left
        if left == 0:
            return write(store, *kinds)
        left -= 1
        another = body | {"properties": {"n": str(left)}}
        return _After(lambda: site.ask("PUT", path, another), write(store, *kinds))

    class _After:
        def __init__(self, before: Callable[[], Any], inner: Any) -> None:
            self._before = before
            self._inner = inner

        async def __aenter__(self) -> Any:
            monkeypatch.setattr(Store, "write", write)
            answer: Answer = await asyncio.create_task(self._before())
            monkeypatch.setattr(Store, "write", after_another)
            assert answer.status == 200
            return await self._inner.__aenter__()

        async def __aexit__(self, *error: Any) -> Any:
            return await self._inner.__aexit__(*error)

    await site.token("owner")
    monkeypatch.setattr(Store, "write", after_another)


async def test_of_very_many_names_those_with_the_same_start_are_suggested(site: Site) -> None:
    async with site.gateway.parts.store.write() as connection:
        share = (await connection.execute(schemas.select())).first()
        assert share is not None
        rows = [
            {
                "id": str(uuid4()),
                "share_id": share.share_id,
                "key": f"n{number:04}",
                "name": f"N{number:04}",
            }
            for number in range(1001)
        ]
        await connection.execute(schemas.insert(), rows)
        found = await similar_names(connection, schemas, "eus", schemas.c.share_id == share.share_id)
        assert found == ["eu"]
        assert await similar_names(connection, recipients, "x") == ["acme", "both", "nobody"]
