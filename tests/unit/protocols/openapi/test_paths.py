"""The endpoints of the Delta Sharing protocol: their parameters, bodies, and possible statuses."""

from __future__ import annotations

from typing import Any

import pytest
from support.clients.described import paths_below

from sluicegate.protocols.delta_sharing.paths import TABLE
from sluicegate.protocols.openapi.address import DOCUMENT

ASSETS = ("volumes", "models", "skills")
PATHS = {
    path: item
    for path, item in paths_below("/delta-sharing").items()
    if path != DOCUMENT and not any(kind in path for kind in ASSETS)
}
ALWAYS = {"200", "400", "401", "403", "429", "500", "503"}


def found(method: str, path: str) -> dict[str, Any]:
    described: dict[str, Any] = PATHS[path][method]
    return described


def test_the_endpoints_are_those_of_the_protocol() -> None:
    table = {
        *("/version", "/metadata", "/query", "/changes", "/queries/{queryId}"),
        *("/temporary-table-credentials", "/hadoop-delegation-token"),
    }
    assert PATHS.keys() == {
        *("/shares", "/shares/{share}", "/shares/{share}/schemas", "/shares/{share}/all-tables"),
        *("/shares/{share}/schemas/{schema}/tables", TABLE),
        *(f"{TABLE}{part}" for part in table),
    }


@pytest.mark.parametrize("path", PATHS)
def test_the_parameters_of_a_path_are_described_in_its_order(path: str) -> None:
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    assert [each["name"] for each in PATHS[path].get("parameters", ())] == names


@pytest.mark.parametrize(
    ("method", "path", "schema"),
    [
        ("post", f"{TABLE}/query", "Query"),
        ("post", f"{TABLE}/queries/{{queryId}}", "Poll"),
        ("post", f"{TABLE}/temporary-table-credentials", "CredentialsRequest"),
        ("post", f"{TABLE}/hadoop-delegation-token", "HadoopTokenRequest"),
    ],
)
def test_only_endpoints_with_a_body_refuse_large_ones(method: str, path: str, schema: str) -> None:
    described = found(method, path)
    content = described["requestBody"]["content"]["application/json"]
    assert content["schema"] == {"$ref": f"#/components/schemas/{schema}"}
    assert described["responses"].keys() == ALWAYS | {"404", "413"}


def test_all_other_endpoints_are_read_without_a_body() -> None:
    for path, item in PATHS.items():
        for method in item.keys() & {"get", "head"}:
            assert "requestBody" not in item[method]
            missing = set() if path == "/shares" else {"404"}
            assert item[method]["responses"].keys() == ALWAYS | missing


def test_the_version_by_head_is_deprecated() -> None:
    assert found("head", TABLE)["deprecated"] is True
    assert "deprecated" not in found("get", f"{TABLE}/version")
    assert "content" not in found("head", TABLE)["responses"]["200"]


@pytest.mark.parametrize(
    ("method", "path", "names"),
    [
        ("get", "/shares", ["maxResults", "pageToken"]),
        ("get", "/shares/{share}/all-tables", ["maxResults", "pageToken"]),
        ("get", f"{TABLE}/version", ["startingTimestamp"]),
        ("get", f"{TABLE}/metadata", ["version", "timestamp"]),
        ("post", f"{TABLE}/query", []),
    ],
)
def test_parameters_of_the_query_string(method: str, path: str, names: list[str]) -> None:
    given = found(method, path)["parameters"]
    assert [each["name"] for each in given if each["in"] == "query"] == names
