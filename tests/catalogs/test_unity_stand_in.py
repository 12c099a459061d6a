"""The stand-in for Unity Catalog answers as 0.6.0 does: exchange by exchange."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from sluicegate_testing.servers.unity_catalog.unity import (
    UnityReply,
    UnityRequest,
    UnityServer,
    model_info,
    table_info,
    version_info,
    volume_info,
)

API = "/api/2.1/unity-catalog"
DELTA = "/delta/v1/catalogs/main/schemas/eu/tables"
EXCHANGE = "/api/1.0/unity-control/auth/tokens"
FORM = {
    "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
    "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
    "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
}


@pytest.fixture
def unity() -> Iterator[UnityServer]:
    """Authorization is on; of the catalog `main`, the gateway may read `eu` without `secret`."""
    with UnityServer.start() as server:
        state = server.state
        state.tokens = {"good"}
        state.distrusted = {"gone-user": "user", "foreign": "issuer", "old-key": "key"}
        state.schemas = ["main.eu", "main.us", "hidden.x"]
        state.add(
            table_info("main.eu.orders", "file:///lake/orders", 1),
            table_info("main.eu.secret", "file:///lake/secret", 2),
            table_info("main.eu.csv", "file:///lake/csv", 3, data_source_format="CSV"),
            table_info("main.eu.view", None, 4, table_type="VIEW"),
            table_info("main.eu.bucket", "s3://lake/bucket", 5),
            table_info("main.us.orders", "file:///lake/us", 6),
        )
        state.assets.volumes = {
            "main.eu.manuals": volume_info("main.eu.manuals", "s3://lake/manuals", 1),
            "main.eu.secret": volume_info("main.eu.secret", "s3://lake/secret", 2),
            "main.eu.local": volume_info("main.eu.local", "file:///lake/local", 3),
        }
        state.assets.models = {
            "main.eu.churn": model_info("main.eu.churn", "s3://lake/churn", 1),
            "main.us.churn": model_info("main.us.churn", "s3://lake/us", 2),
        }
        state.assets.versions["main.eu.churn"] = [
            version_info("main.eu.churn", f"s3://lake/churn/{number}", number) for number in (1, 2)
        ]
        state.forbidden = {"main.us", "hidden", "main.eu.secret"}
        yield server


def ask(
    unity: UnityServer,
    path: str,
    token: str | None = "good",  # noqa: S107 (not a secret)
    body: dict[str, Any] | None = None,
    method: str = "GET",
) -> httpx.Response:
    """What the server answers."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx.request(method, f"{unity.uri}{API}{path}", headers=headers, json=body)


def error(answer: httpx.Response) -> tuple[int, str, str]:
    """Status, code and message of an error in the first shape."""
    found = answer.json()
    [detail] = found["details"]
    assert detail == {"reason": found["error_code"], "@type": "google.rpc.ErrorInfo"}
    return answer.status_code, found["error_code"], found["message"]


@pytest.mark.parametrize(
    ("token", "status", "code", "message"),
    [
        (None, 401, "UNAUTHENTICATED", "No authorization found."),
        ("garbage", 401, "UNAUTHENTICATED", "Invalid access token."),
        ("gone-user", 403, "PERMISSION_DENIED", "User not allowed: gateway@example.com"),
        ("foreign", 403, "PERMISSION_DENIED", "Invalid access token."),
        (
            "old-key",
            500,
            "INTERNAL",
            "No key found in file:/opt/unity/etc/conf/certs.json with kid 5396a2e4",
        ),
    ],
)
@pytest.mark.parametrize("path", ["/catalogs", "/tables/main.eu.orders", f"{DELTA}/orders"])
def test_tokens_are_refused(
    unity: UnityServer, path: str, token: str | None, status: int, code: str, message: str
) -> None:
    assert error(ask(unity, path, token)) == (status, code, message)


@pytest.mark.parametrize(
    ("path", "key", "names"),
    [
        ("/catalogs", "catalogs", ["main"]),
        ("/schemas?catalog_name=main", "schemas", ["eu"]),
        ("/schemas?catalog_name=hidden", "schemas", []),
        ("/tables?catalog_name=main&schema_name=us", "tables", []),
        ("/tables?catalog_name=hidden&schema_name=x", "tables", []),
        (
            "/tables?catalog_name=main&schema_name=eu",
            "tables",
            ["bucket", "csv", "orders", "view"],
        ),
        ("/tables?catalog_name=main&schema_name=eu&max_results=0", "tables", 4),
        ("/tables?catalog_name=main&schema_name=eu&max_results=2", "tables", 2),
    ],
)
def test_listings_leave_out_what_is_not_granted(
    unity: UnityServer, path: str, key: str, names: list[str] | int
) -> None:
    answer = ask(unity, path)
    found = [entry["name"] for entry in answer.json()[key]]
    assert answer.status_code == 200
    assert (len(found) if isinstance(names, int) else found) == names


@pytest.mark.parametrize(
    ("path", "status", "code", "message"),
    [
        ("/schemas?catalog_name=nope", 404, "CATALOG_NOT_FOUND", "Catalog not found: nope"),
        ("/schemas", 404, "CATALOG_NOT_FOUND", "Catalog not found: null"),
        (
            "/tables?catalog_name=nope&schema_name=x",
            404,
            "CATALOG_NOT_FOUND",
            "Catalog not found: nope",
        ),
        (
            "/tables?catalog_name=main&schema_name=nope",
            404,
            "SCHEMA_NOT_FOUND",
            "Schema not found: main.nope",
        ),
        ("/tables?catalog_name=main", 404, "SCHEMA_NOT_FOUND", "Schema not found: main.null"),
        (
            "/tables?catalog_name=main&schema_name=eu&max_results=-1",
            400,
            "INVALID_ARGUMENT",
            "maxResults must be greater than or equal to 0",
        ),
        (
            "/tables?catalog_name=main&schema_name=eu&max_results=x",
            400,
            "INVALID_ARGUMENT",
            'For input string: "x"',
        ),
        ("/tables/a.b", 400, "INVALID_ARGUMENT", "Invalid table name: a.b"),
        ("/tables/main.eu.secret", 403, "PERMISSION_DENIED", "Access denied."),
        ("/tables/main.us.orders", 403, "PERMISSION_DENIED", "Access denied."),
        ("/tables/main.eu.gone", 404, "TABLE_NOT_FOUND", "Table not found: main.eu.gone"),
        ("/tables/main.EU.orders", 404, "SCHEMA_NOT_FOUND", "Schema not found: main.EU"),
        ("/tables/nope.eu.orders", 404, "CATALOG_NOT_FOUND", "Catalog not found: nope"),
        ("/volumes/main.eu", 400, "INVALID_ARGUMENT", "Invalid volume name: main.eu"),
        ("/volumes/main.eu.secret", 403, "PERMISSION_DENIED", "Access denied."),
        ("/volumes/main.EU.manuals", 404, "SCHEMA_NOT_FOUND", "Schema not found: main.EU"),
        ("/models/a.b.c.d", 400, "INVALID_ARGUMENT", "Invalid registered model name: a.b.c.d"),
        ("/models/main.us.churn", 403, "PERMISSION_DENIED", "Access denied."),
        ("/models/main.eu.CHURN", 404, "NOT_FOUND", "Registered model not found: main.eu.CHURN"),
        ("/models/nope.eu.x/versions", 404, "CATALOG_NOT_FOUND", "Catalog not found: nope"),
        (
            "/models/main.eu.churn/versions?page_token=x",
            400,
            "INVALID_ARGUMENT",
            "Invalid page token received: x",
        ),
        ("/volumes?catalog_name=main", 404, "SCHEMA_NOT_FOUND", "Schema not found: main.null"),
        (
            "/models?catalog_name=main",
            400,
            "INVALID_ARGUMENT",
            "Cannot specify catalog w/o schema for list registered models.",
        ),
        (
            "/models?catalog_name=main&schema_name=x",
            404,
            "SCHEMA_NOT_FOUND",
            "Schema not found: main.x",
        ),
        # With authorization, the Delta API refuses in the first shape.
        (f"{DELTA}/secret", 403, "PERMISSION_DENIED", "Access denied."),
        (f"{DELTA}/gone", 404, "TABLE_NOT_FOUND", "Table not found: main.eu.gone"),
        (f"{DELTA}/orders/credentials", 403, "PERMISSION_DENIED", "Access denied."),
        ("/nope", 500, "INTERNAL", "Couldn't unwrap service."),
    ],
)
def test_errors_have_the_first_shape(
    unity: UnityServer, path: str, status: int, code: str, message: str
) -> None:
    assert error(ask(unity, path)) == (status, code, message)


@pytest.mark.parametrize("name", ["none", "MANUALS", "%20"])
def test_a_volume_that_does_not_exist_is_an_internal_error(unity: UnityServer, name: str) -> None:
    status, code, message = error(ask(unity, f"/volumes/main.eu.{name}"))
    assert (status, code) == (500, "INTERNAL")
    assert message.startswith('Failed to get volume: Cannot invoke "io.unitycatalog.server.persist')


@pytest.mark.parametrize(
    ("path", "key", "names"),
    [
        ("/volumes?catalog_name=main&schema_name=eu", "volumes", ["local", "manuals"]),
        ("/volumes?catalog_name=main&schema_name=us", "volumes", []),
        ("/models?catalog_name=main&schema_name=eu", "registered_models", ["churn"]),
        ("/models?catalog_name=main&schema_name=us", "registered_models", []),
        ("/models", "registered_models", ["churn"]),  # those of all catalogs
    ],
)
def test_assets_are_listed_without_what_is_not_granted(
    unity: UnityServer, path: str, key: str, names: list[str]
) -> None:
    answer = ask(unity, path).json()
    assert (set(answer), answer["next_page_token"]) == ({key, "next_page_token"}, None)
    assert [each["name"] for each in answer[key]] == names


def test_a_full_last_page_of_assets_has_a_next_one(unity: UnityServer) -> None:
    query = "catalog_name=main&schema_name=eu&max_results=3"
    first = ask(unity, f"/volumes?{query}").json()
    token = first["next_page_token"]
    assert [each["name"] for each in first["volumes"]] == ["local", "manuals"]
    assert ask(unity, f"/volumes?{query}&page_token={token}").json() == {
        "volumes": [],
        "next_page_token": None,
    }


def test_assets_have_the_members_of_the_real_server(unity: UnityServer) -> None:
    described = {
        *("name", "catalog_name", "schema_name", "storage_location", "comment", "created_at"),
        *("created_by", "updated_at", "updated_by"),
    }
    named = described | {"full_name", "owner"}
    volume = ask(unity, "/volumes/main.eu.manuals").json()
    assert set(volume) == named | {"volume_id", "volume_type"}
    assert set(ask(unity, "/models/main.eu.churn").json()) == named | {"id"}
    [version, _] = ask(unity, "/models/main.eu.churn/versions").json()["model_versions"]
    own = {"model_name", "version", "source", "run_id", "status", "id"}
    assert set(version) == described - {"name"} | own


def test_versions_come_in_pages(unity: UnityServer) -> None:
    first = ask(unity, "/models/main.eu.churn/versions?max_results=1").json()
    assert [each["version"] for each in first["model_versions"]] == [1]
    assert first["next_page_token"] == "1"


@pytest.mark.parametrize(
    ("is_authorizing", "changed", "status", "code"),
    [
        (True, {"operation": "READ"}, 403, "PERMISSION_DENIED"),
        (False, {"operation": "READ"}, 400, "INVALID_ARGUMENT"),
        (False, {"operation": None}, 500, "INTERNAL"),
        (True, {"volume_id": "x", "version": 9}, None, None),
        (True, {}, 400, "FAILED_PRECONDITION"),
    ],
)
def test_credentials_of_assets_are_refused(
    unity: UnityServer,
    is_authorizing: bool,
    changed: dict[str, Any],
    status: int | None,
    code: str | None,
) -> None:
    if not is_authorizing:
        unity.state.tokens = None
    volume = unity.state.assets.volumes["main.eu.manuals"]["volume_id"]
    model = {"catalog_name": "main", "schema_name": "eu", "model_name": "churn", "version": 1}
    of_volume = {"volume_id": volume, "operation": "READ_VOLUME", **changed}
    of_version = {**model, "operation": "READ_MODEL_VERSION", **changed}
    first = ask(unity, "/temporary-volume-credentials", body=of_volume, method="POST")
    second = ask(unity, "/temporary-model-version-credentials", body=of_version, method="POST")
    found = [error(answer)[:2] for answer in (first, second)]
    assert found == ([(status, code)] * 2 if status else [(500, "INTERNAL"), (404, "NOT_FOUND")])


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        (f"{DELTA}/csv", 400, "UnsupportedTableFormatException"),
        (f"{DELTA}/view", 500, "InternalServerErrorException"),
        (f"{DELTA}/bucket/credentials?operation=READ", 400, "InvalidParameterValueException"),
    ],
)
def test_errors_of_the_delta_api_have_its_shape(
    unity: UnityServer, path: str, status: int, kind: str
) -> None:
    answer = ask(unity, path)
    found = answer.json()["error"]
    assert (answer.status_code, found["type"], found["code"]) == (status, kind, status)


def test_the_delta_api_leaves_out_absent_keys(unity: UnityServer) -> None:
    assert set(ask(unity, f"{DELTA}/orders").json()) == {"metadata", "commits"}
    [entry] = ask(unity, f"{DELTA}/orders/credentials?operation=READ").json()["storage-credentials"]
    assert entry["config"] == {}


def test_commits_are_in_descending_order(unity: UnityServer) -> None:
    unity.state.commits["main.eu.orders"] = ([{"version": 3}, {"version": 5}, {"version": 4}], 5)
    unity.state.uniform["main.eu.orders"] = "file:///lake/orders/metadata/v1.metadata.json"
    answer = ask(unity, f"{DELTA}/orders").json()
    assert [commit["version"] for commit in answer["commits"]] == [5, 4, 3]
    assert answer["latest-table-version"] == 5
    assert answer["uniform"] == {
        "iceberg": {"metadata-location": "file:///lake/orders/metadata/v1.metadata.json"}
    }


@pytest.mark.parametrize(
    ("table", "operation", "status", "code", "message"),
    [
        ("view", "READ", 400, "INVALID_ARGUMENT", "Storage location is null."),
        ("secret", "READ", 403, "PERMISSION_DENIED", "Access denied."),
        ("orders", "READ_WRITE", 403, "PERMISSION_DENIED", "Access denied."),
        ("bucket", "READ", 400, "FAILED_PRECONDITION", "S3 bucket configuration not found."),
    ],
)
def test_credentials_are_refused(
    unity: UnityServer, table: str, operation: str, status: int, code: str, message: str
) -> None:
    wanted = {
        "table_id": unity.state.tables[f"main.eu.{table}"]["table_id"],
        "operation": operation,
    }
    answer = ask(unity, "/temporary-table-credentials", body=wanted, method="POST")
    assert error(answer) == (status, code, message)


@pytest.mark.parametrize(
    ("form", "is_authorizing", "status", "code"),
    [
        (FORM | {"subject_token": "known"}, True, 200, None),
        (FORM | {"subject_token": "known"}, False, 400, "INVALID_ARGUMENT"),
        (FORM | {"subject_token": "unknown"}, True, 400, "INVALID_ARGUMENT"),
        (FORM | {"subject_token": "garbage"}, True, 401, "UNAUTHENTICATED"),
        (FORM | {"grant_type": "password"}, True, 400, "INVALID_ARGUMENT"),
    ],
)
def test_identity_tokens_are_exchanged(
    unity: UnityServer, form: dict[str, str], is_authorizing: bool, status: int, code: str | None
) -> None:
    unity.state.exchanged, unity.state.unknown_subjects = {"known": "good"}, {"unknown"}
    if not is_authorizing:
        unity.state.tokens = None
    answer = httpx.post(f"{unity.uri}{EXCHANGE}", data=form)
    assert (answer.status_code, answer.json().get("error_code")) == (status, code)


def test_commits_of_the_preview_want_a_body(unity: UnityServer) -> None:
    wanted = {
        "table_id": unity.state.tables["main.eu.orders"]["table_id"],
        "table_uri": "file:///lake/orders",
        "start_version": 0,
    }
    path = "/delta/preview/commits"
    assert error(ask(unity, path))[:2] == (400, "INVALID_ARGUMENT")
    assert error(ask(unity, path, body=wanted))[:2] == (400, "INVALID_ARGUMENT")  # it is external
    unity.state.tables["main.eu.orders"]["table_type"] = "MANAGED"
    assert ask(unity, path, body=wanted).json() == {"commits": [], "latest_table_version": 0}
    unity.state.delta_api_only = True
    assert error(ask(unity, path, body=wanted))[:2] == (400, "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    ("token", "status", "shape"), [(None, 404, "text/plain"), ("good", 500, "application/json")]
)
def test_an_older_server_has_no_delta_api(
    unity: UnityServer, token: str | None, status: int, shape: str
) -> None:
    unity.state.version = "0.4"
    unity.state.tokens = None if token is None else {token}
    answer = ask(unity, f"{DELTA}/orders", token)
    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (status, shape)


def test_only_errors_of_the_catalog_itself_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    asked, is_reset = threading.Event(), threading.Event()

    def answer(request: UnityRequest) -> UnityReply:
        if request.path == "/mistake":
            raise ValueError("of the catalog")
        asked.set()
        is_reset.wait(10)
        return UnityReply(content=b"x" * 10_000_000)

    with UnityServer.start() as server:
        server.instead = answer
        url = httpx.URL(server.uri)
        with socket.create_connection((url.host, url.port or 0)) as client:
            client.sendall(b"GET /reset HTTP/1.1\r\nHost: unity\r\n\r\n")
            assert asked.wait(10)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        is_reset.set()
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.get(f"{server.uri}/mistake")
    printed = capsys.readouterr().err
    assert "ValueError: of the catalog" in printed
    assert "ConnectionResetError" not in printed
    assert "BrokenPipeError" not in printed
