"""Shares, schemas, tables, recipients and grants over the Admin API."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from admin.conftest import SHARES, Site, together
from support.clients.asgi import ask

TABLE = "/shares/sales/schemas/eu/tables/orders"


async def test_resources_have_the_form_of_the_shares_file(site: Site) -> None:
    share = (await site.ask("GET", "/shares/SALES")).json
    assert share == {"name": "sales", **SHARES["shares"]["sales"]}
    assert (await site.ask("GET", "/shares/sales/schemas/eu")).json == {
        "name": "eu",
        **SHARES["shares"]["sales"]["schemas"]["eu"],
    }
    assert (await site.ask("GET", TABLE)).json == {
        "name": "orders",
        "catalog": "raw",
        "table": "file:///srv/orders",
    }
    assert (await site.ask("GET", "/recipients/acme")).json == {
        "name": "acme",
        "shares": ["sales"],
        "token_lifetime": "30d",
    }


async def test_what_is_read_can_be_written_back(site: Site) -> None:
    for path in ("/shares/sales", "/shares/sales/schemas/eu", TABLE, "/recipients/both"):
        read = await site.ask("GET", path)
        written = await site.ask("PUT", path, read.json, headers={"If-Match": read.headers["etag"]})
        assert (written.status, written.json) == (200, read.json)
        assert written.headers["etag"] == read.headers["etag"]


async def test_a_table_is_added_and_deleted_without_its_neighbors_changing(site: Site) -> None:
    path = "/shares/sales/schemas/eu/tables/lines"
    made = await site.ask("PUT", path, {"catalog": "raw", "table": "file:///srv/lines"})
    assert made.status == 201
    tables = (await site.ask("GET", "/shares/sales/schemas/eu")).json["tables"]
    assert list(tables) == ["lines", "orders"]
    assert (await site.ask("DELETE", path)).status == 204
    assert (await site.ask("GET", path)).status == 404
    assert (await site.ask("GET", TABLE)).status == 200


async def test_a_deleted_share_takes_its_grants_with_it(site: Site) -> None:
    assert (await site.ask("DELETE", "/shares/sales")).status == 204
    assert (await site.ask("GET", "/recipients/both")).json["shares"] == ["returns"]
    assert (await site.ask("GET", "/recipients/acme")).json == {"name": "acme", "token_lifetime": "30d"}
    assert [each["name"] for each in (await site.ask("GET", "/shares")).json["items"]] == ["returns"]


async def test_grants_are_added_and_ended_one_by_one(site: Site) -> None:
    granted = await site.ask("PUT", "/recipients/ACME/grants/Returns")
    assert (granted.status, granted.json) == (200, {"recipient": "acme", "share": "returns"})
    listed = (await site.ask("GET", "/shares/returns/grants")).json["items"]
    assert [each["recipient"] for each in listed] == ["acme", "both"]
    assert (await site.ask("DELETE", "/recipients/acme/grants/sales")).status == 204
    assert (await site.ask("GET", "/recipients/acme")).json["shares"] == ["returns"]
    assert (await site.ask("DELETE", "/recipients/acme/grants/sales")).status == 404


async def test_a_recipient_is_created_replaced_and_deleted(site: Site) -> None:
    made = await site.ask("PUT", "/recipients/new", {"shares": ["sales"], "comment": "New"})
    assert (made.status, made.json["comment"]) == (201, "New")
    assert (await site.ask("PUT", "/recipients/new", {"shares": []})).json == {"name": "new"}
    assert (await site.ask("DELETE", "/recipients/new")).status == 204
    assert (await site.ask("DELETE", "/recipients/new")).status == 404


async def test_listings_have_pages(site: Site) -> None:
    first = (await site.ask("GET", "/recipients?maxResults=2")).json
    assert [each["name"] for each in first["items"]] == ["acme", "both"]
    token = first["nextPageToken"]
    second = (await site.ask("GET", f"/recipients?maxResults=2&pageToken={token}")).json
    assert [each["name"] for each in second["items"]] == ["nobody"]
    assert "nextPageToken" not in second
    foreign = await site.ask("GET", f"/recipients?pageToken={token}", role="viewer")
    assert (foreign.status, foreign.json["errorCode"]) == (400, "INVALID_PARAMETER_VALUE")


LINES = {"catalog": "raw", "table": "file:///srv/lines"}
WRONG: list[tuple[str, str, Any, int, str]] = [
    ("PUT", "/shares/sales", {"coment": "x"}, 400, "shares.sales: unknown key 'coment'; did you mean"),
    ("PUT", TABLE, {**LINES, "catalog": "row"}, 400, "there is no catalog 'row' in the configuration"),
    ("PUT", TABLE, {"catalog": "raw"}, 400, "schemas.eu.tables.orders: 'table' is missing"),
    ("PUT", "/recipients/acme", {"shares": ["sails"]}, 400, "acme.shares.0: there is no share 'sails'"),
    ("PUT", "/recipients/acme", {"name": "other"}, 400, "name must be 'acme'"),
    ("PUT", "/shares/a%20b", {}, 404, "cannot contain a space"),
    ("PUT", "/shares/sails/schemas/eu", {}, 404, "there is no share 'sails'"),
    ("PUT", "/shares/sales/schemas/us/tables/lines", LINES, 404, "there is no schema 'us'"),
    ("GET", "/shares/sales/schemas/us", None, 404, "there is no schema 'sales.us'"),
    ("PUT", "/shares/sales", b"[]", 400, "must be a JSON object"),
    ("PUT", "/shares/sales", b"{", 400, "the body is not JSON"),
    ("POST", "/apply?dryrun=true", {}, 400, "unknown parameter 'dryrun'; did you mean 'dry_run'?"),
    ("GET", "/nothing", None, 404, "there is no such route"),
    ("PUT", "/recipients/acme/grants/nothing", None, 400, "there is no share 'nothing'"),
]


async def test_errors_say_what_is_wrong_and_where(site: Site) -> None:
    for method, path, body, status, message in WRONG:
        answer = await site.ask(method, path, body)
        assert (answer.status, message in answer.json["message"]) == (status, True), answer.json
        assert answer.headers["cache-control"] == "private, no-store"
    assert (await site.ask("GET", "/shares/sales")).json["comment"] == "Orders"


async def test_other_methods_are_refused_with_those_that_exist(site: Site) -> None:
    answer = await site.ask("PATCH", "/shares/sales", {})
    assert answer.status == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "PUT", "DELETE"}
    head = await site.ask("HEAD", "/shares/sales")
    assert (head.status, head.headers["etag"][:1]) == (200, '"')


async def test_a_long_body_is_refused(site: Site) -> None:
    answer = await site.ask("PUT", "/shares/sales", b'{"comment": "' + b"x" * 4_000_000 + b'"}')
    assert answer.status == 413
    long = await site.ask("PUT", "/shares/sales", {"comment": "x" * 65_536})
    assert (long.status, len(long.json["comment"])) == (200, 65_536)
    named = await site.ask("PUT", "/shares/sales", long.json)
    assert (named.status, named.json) == (200, long.json)


async def test_of_very_many_problems_only_some_are_reported(site: Site) -> None:
    for number in (30, 20_000):
        answer = await site.ask("PUT", "/shares/sales", {f"comment{n}": 1 for n in range(number)})
        lines = answer.json["message"].splitlines()
        assert (answer.status, len(lines), "did you mean 'comment'?" in lines[0]) == (400, 20, True)


async def test_a_shares_file_is_applied_completely_or_not_at_all(site: Site) -> None:
    wanted = {"shares": {"new": {}}, "recipients": {"acme": {"shares": ["new"]}}}
    shown = (await site.ask("POST", "/apply?dry_run=true", wanted)).json
    assert (shown["applied"], shown["text"][0]) == (False, "+ share new")
    assert {"action": "remove", "kind": "grant", "name": ["acme", "sales"], "fields": {}} in shown[
        "changes"
    ]
    assert (await site.ask("GET", "/shares/new")).status == 404
    assert (
        await site.ask("POST", "/apply", {**wanted, "recipients": {"x": {"shares": ["y"]}}})
    ).status == 400
    assert (await site.ask("GET", "/shares/new")).status == 404
    assert (await site.ask("POST", "/apply", wanted)).json["applied"]
    assert (await site.ask("POST", "/apply?prune=true", wanted)).status == 200
    assert [each["name"] for each in (await site.ask("GET", "/shares")).json["items"]] == ["new"]


@pytest.mark.parametrize("path", ["/shares/sales", TABLE, "/recipients/acme"])
async def test_of_two_administrators_who_read_the_same_only_one_can_write(
    site: Site, path: str
) -> None:
    read = await site.ask("GET", path)
    unchanged = await site.ask("GET", path, headers={"If-None-Match": f'"x", {read.headers["etag"]}'})
    assert (unchanged.status, unchanged.body) == (304, b"")
    tag = {"If-Match": read.headers["etag"]}
    answers = await together(
        *(site.ask("PUT", path, {**read.json, "comment": f"by {n}"}, headers=tag) for n in range(6))
    )
    assert sorted(each.status for each in answers) == [200] + [412] * 5
    (won,) = [each for each in answers if each.status == 200]
    now = await site.ask("GET", path)
    assert (now.json, now.headers["etag"]) == (won.json, won.headers["etag"])
    assert (await site.ask("DELETE", path, headers=tag)).status == 412
    assert (await site.ask("DELETE", path, headers={"If-Match": "*"})).status == 204
    assert (await site.ask("DELETE", path, headers={"If-Match": "*"})).status == 412


async def test_of_concurrent_creations_one_succeeds(site: Site) -> None:
    create = {"If-None-Match": "*"}
    answers = await together(
        *(site.ask("PUT", "/shares/new", {"comment": str(n)}, headers=create) for n in range(6))
    )
    assert sorted(each.status for each in answers) == [201] + [412] * 5


async def test_a_malformed_condition_is_refused(site: Site) -> None:
    answer = await site.ask("PUT", "/shares/sales", {}, headers={"If-Match": "abc"})
    assert (answer.status, "If-Match" in answer.json["message"]) == (400, True)
    weak = {"If-Match": 'W/"' + (await site.ask("GET", "/shares/sales")).headers["etag"][1:]}
    assert (await site.ask("PUT", "/shares/sales", {}, headers=weak)).status == 412


async def test_without_its_section_there_is_no_admin_api(site: Site) -> None:
    paths = {getattr(route, "path", "") for route in site.gateway.routes()}
    assert "/admin/v1/shares" in paths
    parts = site.gateway.parts
    settings = parts.settings.model_copy(update={"admin": None})
    without = replace(site.gateway, parts=replace(parts, settings=settings))
    paths = {getattr(route, "path", "") for route in without.routes()}
    assert not [path for path in paths if path.startswith("/admin")]
    assert (await ask(without.asgi(), "/admin/v1/shares")).status == 404
