"""Who can use which route, for every route."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from admin.conftest import SHARES, Site
from starlette.routing import Route
from support.servers.delegation import body as task_body
from support.servers.migrated import new_sqlite

from sluicegate.admin.endpoint import AdminRoute, MethodEndpoints
from sluicegate.admin.identity import ROLES, Role

NAMES = {
    "share": "sales",
    "schema": "eu",
    "table": "orders",
    "recipient": "acme",
    "admin": "nobody",
    "credential": "none",
    "catalog": "raw",
    "task": "none",
    "schedule": "none",
}
CATALOGS = {"listCatalogs", "listCatalogSchemas", "listCatalogTables", "listCatalogAssets"}
FOR_ADMINS = {"listAdmins", "explainAccess", "listReaders", "listAudit", "getAuditHead", *CATALOGS}
QUERIES = {
    "listCatalogTables": "?schema=default",
    "listCatalogAssets": "?schema=default",
    "explainAccess": "?table=sales.eu.orders&offline=true",
    "listReaders": "?offline=true",
}
BODIES: dict[str, Any] = {
    "applySharesFile": SHARES,
    "putShare": {"comment": "changed"},
    "putSchema": {"comment": "changed"},
    "putTable": {"catalog": "raw", "table": "file:///srv/orders"},
    "putRecipient": {"shares": ["sales"]},
    "issueCredential": {"deliver": "profile"},
    "createAdmin": {"name": "new", "role": "viewer", "replace": True},
    "createRecipient": {"name": "another"},
    "submitTask": task_body(),
    "pruneTasks": {"older_than": "90d"},
}
REFUSED = {"submitTask": [400]}  # the gateway has no executor
# Operations that administrators of other shares can also use, about their own shares or themselves.
FOR_EVERYONE = {
    *("getMe", "getUsage", "listShares", "listRecipients"),
    *("listAccess", "listLimits", "exportSharesFile"),
}
FOR_EVERY_ADMIN = {"listAudit", *CATALOGS}


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind of database is enough: the other modules use both."""
    return new_sqlite(tmp_path / "sluicegate.db")


def operations(site: Site) -> list[AdminRoute]:
    api = site.gateway.admin
    assert api is not None
    return sorted(api.operations, key=lambda route: route.method == "DELETE")  # at the end


def target(route: AdminRoute) -> str:
    return route.path.format_map(NAMES) + QUERIES.get(route.operation, "")


async def test_every_route_has_a_role_and_only_the_document_has_none(site: Site) -> None:
    served = [
        route
        for route in site.gateway.routes()
        if isinstance(route, Route) and route.path.startswith("/admin")
    ]
    others = [route.path for route in served if not isinstance(route.endpoint, MethodEndpoints)]
    assert others == ["/admin/v1/openapi.json"]
    described = operations(site)
    methods = [route.methods or set() for route in served]
    assert sum(len(each - {"HEAD"}) for each in methods) == len(described) + 1 > 20
    assert {route.role for route in described} == {*ROLES}
    for route in described:
        reads = route.method == "GET" and route.operation not in FOR_ADMINS
        assert (route.role == "viewer") == reads, route.operation


async def test_nobody_can_use_a_route_without_a_token(site: Site) -> None:
    for route in operations(site):
        answer = await site.ask(route.method, target(route), BODIES.get(route.operation), role=None)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer"), route.operation


@pytest.mark.parametrize("role", ROLES)
async def test_a_role_can_use_its_routes_and_no_others(site: Site, role: Role) -> None:
    for route in operations(site):
        answer = await site.ask(route.method, target(route), BODIES.get(route.operation), role=role)
        if ROLES.index(role) < ROLES.index(route.role):
            assert answer.status == 403, route.operation
            assert f"requires the role {route.role}" in answer.json["message"]
        else:
            refused = {404, *REFUSED.get(route.operation, ())}
            assert answer.status < 300 or answer.status in refused, (route.operation, answer.body)


@pytest.mark.parametrize("role", ["viewer", "admin"])
async def test_an_administrator_of_other_shares_can_read_and_change_nothing(
    site: Site, role: Role
) -> None:
    for route in operations(site):
        body = BODIES.get(route.operation)
        answer = await site.ask(route.method, target(route), body, role=role, shares=("returns",))
        if role == "admin" and route.operation in FOR_EVERY_ADMIN:
            assert answer.status in (200, 404), route.operation
        elif route.operation in FOR_EVERYONE:
            assert (answer.status, "sales" in answer.body.decode()) == (200, False), route.operation
        else:
            assert answer.status == 403, (route.operation, answer.body)
            assert "requires the role" in answer.json["message"]
    assert (await site.ask("GET", "/shares/sales")).json["comment"] == "Orders"
    assert (await site.ask("GET", "/recipients/acme")).json["shares"] == ["sales"]


MINE = ("returns",)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PUT", "/shares/RETURNS", {"comment": "mine"}, 200),
        ("PUT", "/recipients/new", {"shares": ["returns"]}, 201),
        ("PUT", "/recipients/new", {"shares": ["returns", "sales"]}, 403),
        ("PUT", "/recipients/new", {}, 403),
        ("PUT", "/recipients/both", {"shares": ["returns"]}, 403),
        ("PUT", "/recipients/nobody", {"shares": ["returns"]}, 403),
        ("PUT", "/recipients/acme/grants/returns", None, 403),
        ("PUT", "/recipients/absent/grants/returns", None, 403),
        ("PUT", "/recipients/both/grants/returns", None, 200),
        ("DELETE", "/recipients/both/grants/returns", None, 204),
        ("DELETE", "/recipients/acme/grants/returns", None, 404),
        ("DELETE", "/recipients/both/grants/sales", None, 403),
        ("PUT", "/recipients/nobody/grants/returns", None, 403),
        ("POST", "/recipients/both/tokens", {}, 403),
        ("POST", "/recipients/nobody/tokens", {}, 403),
        ("POST", "/recipients/nobody/restore", None, 403),
        ("DELETE", "/recipients/both", None, 403),
        ("PUT", "/shares/other", {}, 403),
        ("POST", "/apply", {"shares": {"returns": {"comment": "mine"}}}, 200),
        ("POST", "/apply?prune=true", {"shares": {"returns": {}}}, 403),
        ("POST", "/apply?dry_run=true", {"shares": {"sales": {}}}, 403),
    ],
)
async def test_an_administrator_of_some_shares_changes_only_these(
    site: Site, method: str, path: str, body: Any, status: int
) -> None:
    before = (await site.ask("GET", "/shares/sales")).body
    answer = await site.ask(method, path, body, role="admin", shares=MINE)
    assert answer.status == status, answer.body
    assert (await site.ask("GET", "/shares/sales")).body == before


async def test_a_recipient_of_own_shares_belongs_to_their_administrator(site: Site) -> None:
    for method, path, body, status in (
        ("PUT", "/recipients/new", {"shares": ["returns"]}, 201),
        ("POST", "/recipients/new/tokens", {}, 201),
        ("GET", "/recipients/new", None, 200),
        ("PUT", "/recipients/new", {"shares": ["returns"], "comment": "mine"}, 200),
        ("DELETE", "/recipients/new", None, 204),
    ):
        answer = await site.ask(method, path, body, role="admin", shares=MINE)
        assert answer.status == status, answer.body


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PUT", "/recipients/new", {"shares": ["other"]}, 400),
        ("PUT", "/recipients/new", {"shares": ["sales"]}, 403),
        ("PUT", "/recipients/acme/grants/other", None, 400),
        ("GET", "/shares/other", None, 404),
        ("GET", "/shares/other/grants", None, 404),
        ("PUT", "/shares/other/schemas/eu", {}, 404),
        ("POST", "/apply", {"recipients": {"new": {"shares": ["other"]}}}, 400),
    ],
)
async def test_messages_do_not_suggest_names_of_other_shares(
    site: Site, method: str, path: str, body: Any, status: int
) -> None:
    answer = await site.ask(method, path, body, role="admin", shares=("other",))
    assert answer.status == status, answer.body
    assert "returns" not in answer.body.decode()
    assert ("sales" in answer.body.decode()) == ("sales" in str(body))
