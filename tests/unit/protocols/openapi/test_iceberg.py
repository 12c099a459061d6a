"""The Iceberg catalog is described with its paths, responses and refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.clients.described import fits, operations, paths_below

from sluicegate.api import errors
from sluicegate.protocols.iceberg_rest import addresses
from sluicegate.protocols.iceberg_rest.errors import NoSuchTable, refuse

CREDENTIAL = {"prefix": "s3://lake/t", "config": {"s3.access-key-id": "a"}}
TABLE: dict[str, Any] = {
    **{"metadata-location": "s3://lake/t/v1.json", "metadata": {"format-version": 2}, "config": {}}
}


PATHS = {path: item for path, item in paths_below("/iceberg").items() if "oauth" not in path}
DESCRIBED = operations(PATHS)


@pytest.mark.parametrize(
    "address",
    [
        *(addresses.NAMESPACES, addresses.NAMESPACE, addresses.TABLES, addresses.TABLE),
        *(addresses.CREDENTIALS, addresses.METRICS),
        *(addresses.PLAN, addresses.PLAN_RESULT, addresses.TASKS, addresses.SIGN),
    ],
)
def test_every_path_of_the_catalog_is_described(address: str) -> None:
    assert address.replace("{prefix}", addresses.PREFIX).replace("plan-id", "plan_id") in PATHS


def test_everything_else_is_described_as_refused() -> None:
    methods = {method for method, path in DESCRIBED if path == "/{path}"}
    assert methods == {"get", "post", "put", "patch", "delete"}
    for method in methods:
        assert not {"200", "204"} & DESCRIBED[method, "/{path}"]["responses"].keys()


def test_operations_have_distinct_ids() -> None:
    identities = [operation["operationId"] for operation in DESCRIBED.values()]
    assert len(set(identities)) == len(identities)
    assert all(each.startswith("iceberg") for each in identities)


@pytest.mark.parametrize(
    "error",
    [
        errors.InvalidRequest("no"),
        errors.Unauthenticated("no"),
        errors.PermissionDenied("no"),
        NoSuchTable("no"),
        errors.PayloadTooLarge("no"),
        errors.RateLimited("no"),
        errors.SluicegateError("no"),
        errors.Unavailable("no"),
    ],
)
def test_errors_fit_and_their_statuses_are_described(error: errors.SluicegateError) -> None:
    response = refuse(error)
    assert fits("IcebergError", json.loads(bytes(response.body)))
    for operation in DESCRIBED.values():
        assert str(response.status_code) in operation["responses"]


@pytest.mark.parametrize("body", [{}, {"error": {"message": "no", "type": "X", "code": 200}}])
def test_an_error_has_the_status_of_one(body: dict[str, Any]) -> None:
    assert not fits("IcebergError", body)


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        ("IcebergConfig", {"defaults": {"a": "b"}, "overrides": {}, "endpoints": ["GET /v1"]}, True),
        ("IcebergConfig", {"defaults": {"a": True}, "overrides": {}, "endpoints": []}, False),
        ("IcebergNamespaces", {"namespaces": [["eu"]], "next-page-token": None}, True),
        ("IcebergNamespaces", {"namespaces": [["eu", "nested"]], "next-page-token": None}, False),
        ("IcebergNamespaces", {"namespaces": []}, False),
        ("IcebergNamespace", {"namespace": ["eu"], "properties": {}}, True),
        ("IcebergNamespace", {"namespace": [], "properties": {}}, False),
        (
            "IcebergTables",
            {"identifiers": [{"namespace": ["eu"], "name": "t"}], "next-page-token": "t"},
            True,
        ),
        ("IcebergTables", {"identifiers": [{"name": "t"}], "next-page-token": None}, False),
        ("IcebergTable", TABLE, True),
        ("IcebergTable", TABLE | {"storage-credentials": [CREDENTIAL]}, True),
        ("IcebergTable", TABLE | {"metadata": {"format-version": 4}}, False),
        ("IcebergTable", TABLE | {"metadata-location": None}, False),
        ("IcebergCredentials", {"storage-credentials": [CREDENTIAL]}, True),
        ("IcebergCredentials", {"storage-credentials": [{"prefix": "s3://lake/t"}]}, False),
        ("IcebergReport", {"anything": 1}, True),
        ("IcebergReport", [], False),
    ],
)
def test_responses(schema: str, value: Any, valid: bool) -> None:
    assert fits(schema, value) is valid


def test_a_load_describes_credentials_etags_and_snapshots() -> None:
    load = DESCRIBED["get", "/v1/shares/{share}/namespaces/{namespace}/tables/{table}"]
    named = {(each["in"], each["name"]) for each in load["parameters"]}
    headers = {("header", "X-Iceberg-Access-Delegation"), ("header", "If-None-Match")}
    assert named == {*headers, ("query", "snapshots")}
    assert load["responses"]["200"]["headers"].keys() == {"x-request-id", "ETag"}
    assert "content" not in load["responses"]["304"]


def test_only_the_warehouse_is_a_required_parameter() -> None:
    required = [
        (path, each["name"])
        for (_, path), operation in DESCRIBED.items()
        for each in operation.get("parameters", ())
        if each["required"]
    ]
    assert required == [("/v1/config", "warehouse")]


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        ("IcebergScan", {}, True),
        ("IcebergScan", {"snapshot-id": 1, "filter": True, "select": ["a"]}, True),
        ("IcebergScan", {"snapshot-id": "1"}, False),
        ("IcebergPlan", {"status": "completed", "file-scan-tasks": []}, True),
        ("IcebergPlan", {"status": "submitted"}, False),
        ("IcebergPlanTask", {"plan-task": "t"}, True),
        ("IcebergPlanTask", {}, False),
        ("IcebergTasks", {"plan-tasks": ["t"]}, True),
        ("IcebergRequest", {"region": "r", "uri": "u", "method": "GET", "headers": {}}, True),
        ("IcebergRequest", {"region": "r", "uri": "u", "method": "PUT", "headers": {}}, False),
        ("IcebergSignedRequest", {"uri": "u", "headers": {"a": ["b"]}}, True),
        ("IcebergSignedRequest", {"uri": "u", "headers": {"a": "b"}}, False),
    ],
)
def test_plans_and_signed_requests(schema: str, value: Any, valid: bool) -> None:
    assert fits(schema, value) is valid
