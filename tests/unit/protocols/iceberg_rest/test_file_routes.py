"""Requests for tables that are read file by file: who may send them, and what arrives."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from support.clients.asgi import Answer, ask
from support.gateways.iceberg_in_memory import IcebergInMemory
from support.gateways.in_memory import by_name

from sluicegate.protocols.common.endpoint import Endpoint
from sluicegate.protocols.iceberg_rest import file_routes
from sluicegate.protocols.iceberg_rest.errors import refuse
from sluicegate.protocols.iceberg_rest.file_routes import FileEndpoints
from sluicegate.protocols.iceberg_rest.resolve import PathResolver

KNOWN = {"authorization": "Bearer acme"}
SIGNING = KNOWN | {"x-iceberg-access-delegation": "remote-signing"}
BOTH = KNOWN | {"x-iceberg-access-delegation": "vended-credentials,remote-signing"}
LARGEST_BODY = 100
REQUESTS = [
    ("POST", "plan", "plan", ['{"filter": true}', "PyIceberg/0.12.0"]),
    ("GET", "plan/p1", "planned", ["p1"]),
    ("POST", "tasks", "tasks", ['{"plan-task": "x"}']),
]


class Files:
    """The routes, without those of the catalog."""

    def __init__(self) -> None:
        self.iceberg = IcebergInMemory()
        requested = PathResolver(self.iceberg.made.resolver)
        made = FileEndpoints(requested, self.iceberg.loader, self.iceberg.files.get, LARGEST_BODY)
        routes = []
        for methods, path, handler in made.served:
            served = Endpoint(handler, by_name(), refuse)
            address = path.replace("{prefix}", "shares/{share}").replace("{plan-id}", "{plan_id}")
            routes.append(Route(address, served, methods=list(methods)))
        self.app = Starlette(routes=routes)

    async def send(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] = SIGNING
    ) -> Answer:
        address = f"/v1/shares/sales/namespaces/eu/tables/{path}"
        return await ask(self.app, address, headers, method=method, body=body)


@pytest.fixture
def files() -> Files:
    return Files()


@pytest.mark.parametrize(("method", "path", "called", "given"), REQUESTS)
@pytest.mark.parametrize("table", ["orders", "by_url"])
async def test_requests_are_handed_on(
    files: Files, table: str, method: str, path: str, called: str, given: list[str]
) -> None:
    headers = SIGNING | {"user-agent": "PyIceberg/0.12.0"}
    answer = await files.send(method, f"{table}/{path}", given[0].encode(), headers)
    assert (answer.status, answer.json) == (200, {"got": given})
    assert answer.headers["cache-control"] == "private, no-store"
    assert files.iceberg.files.asked == [(called, table)]


async def test_a_plan_is_cancelled(files: Files) -> None:
    answer = await files.send("DELETE", "orders/plan/p1")
    assert (answer.status, answer.body) == (204, b"")
    assert files.iceberg.files.asked == [("cancel", "orders")]


async def test_a_request_is_signed_for_any_client(files: Files) -> None:
    answer = await files.send("POST", "by_url/sign", b'{"uri": "x"}', KNOWN)
    assert (answer.status, answer.json) == (200, {"got": [{"uri": "x"}]})


async def test_nothing_is_signed_for_a_table_without_urls(files: Files) -> None:
    answer = await files.send("POST", "by_dir/sign", b'{"uri": "x"}')
    assert answer.status == 403
    assert "not shared with presigned URLs" in answer.json["error"]["message"]
    assert files.iceberg.files.asked == []


@pytest.mark.parametrize(("method", "path", "called", "given"), REQUESTS)
async def test_a_client_that_gets_credentials_plans_by_itself(
    files: Files, method: str, path: str, called: str, given: list[str]
) -> None:
    answer = await files.send(method, f"orders/{path}", given[0].encode(), BOTH)
    assert answer.status == 400
    assert "send X-Iceberg-Access-Delegation: remote-signing" in answer.json["error"]["message"]
    assert files.iceberg.files.asked == []


@pytest.mark.parametrize(
    ("body", "status"), [(b"{}".ljust(LARGEST_BODY), 200), (b"{}".ljust(LARGEST_BODY + 1), 413)]
)
@pytest.mark.parametrize("path", ["plan", "tasks", "sign"])
async def test_bodies_have_a_limit(files: Files, path: str, body: bytes, status: int) -> None:
    assert (await files.send("POST", f"by_url/{path}", body)).status == status


async def test_requests_to_sign_are_smaller(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_routes, "LARGEST_SIGN_REQUEST", 50)
    statuses = [
        (await files.send("POST", "by_url/sign", b"{}".ljust(size))).status for size in (50, 51)
    ]
    assert statuses == [200, 413]
    assert (await files.send("POST", "by_url/plan", b"{}".ljust(51))).status == 200


@pytest.mark.parametrize(("table", "status"), [("nothing", 404), ("gone", 404)])
async def test_what_is_not_there(files: Files, table: str, status: int) -> None:
    for path in ("plan", "tasks"):
        assert (await files.send("POST", f"{table}/{path}", b"{}")).status == status
