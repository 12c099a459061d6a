"""The OpenAPI document says what the gateway serves: no more, no less."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from starlette.routing import Route
from support.in_process import Request, in_process_gateway

from sluicegate import errors
from sluicegate.config import Settings
from sluicegate.sharing.openapi import document

DOCUMENT = document("https://share.example", "/delta-sharing")
PARAMETER = re.compile(r"\{(\w+)(:\w+)?\}")
METHODS = ("get", "head", "post", "put", "patch", "delete")
OPERATIONS = {
    item[method]["operationId"]: item[method]
    for item in DOCUMENT["paths"].values()
    for method in METHODS
    if method in item
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = {"database": f"sqlite:///{tmp_path}/gateway.db", "public_url": "https://share.example"}
    return Settings.model_validate(made)


def anonymous(path: str) -> str:
    """The path whatever its parameters are called."""
    return PARAMETER.sub("{}", path)


def test_every_route_is_described_and_every_description_is_a_route(settings: Settings) -> None:
    with in_process_gateway(settings) as running:
        routes = [route for route in running.gateway.routes() if isinstance(route, Route)]
    served = {(anonymous(route.path), method) for route in routes for method in route.methods or ()}
    described = {
        (anonymous(path), method.upper())
        for path, item in DOCUMENT["paths"].items()
        for method in METHODS
        if method in item
    }
    assert described <= served
    # Starlette answers HEAD wherever it answers GET; the document says so once.
    assert {each for each in served if each[1] != "HEAD"} <= described


def test_anybody_gets_the_document_with_the_gateways_own_address(settings: Settings) -> None:
    with in_process_gateway(settings) as running:
        answer = running.send(Request("GET", "/delta-sharing/openapi.json"))
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert answer.json == DOCUMENT


def test_the_document_is_openapi_3_1() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema_rs.meta.validate({**schema, "components": DOCUMENT["components"]})


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from ([value["$ref"]] if isinstance(value.get("$ref"), str) else [])
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from references(each)


def test_every_reference_leads_somewhere_and_every_component_is_used() -> None:
    components = {
        f"#/components/{kind}/{name}"
        for kind in ("schemas", "responses")
        for name in DOCUMENT["components"][kind]
    }
    assert set(references(DOCUMENT)) == components


@pytest.mark.parametrize("path", DOCUMENT["paths"])
def test_every_parameter_of_a_path_is_described(path: str) -> None:
    item = DOCUMENT["paths"][path]
    described = [each["name"] for each in item.get("parameters", []) if each["in"] == "path"]
    assert described == [found[1] for found in PARAMETER.finditer(path)]


@pytest.mark.parametrize("identity", OPERATIONS)
def test_operations_without_a_token_are_few_and_the_others_can_be_refused(identity: str) -> None:
    operation = OPERATIONS[identity]
    links = ("readFile", "checkFile", "readDerivedFile", "checkDerivedFile")
    few = ("openapi", "health", "live", "ready", "token", "icebergToken", *links)
    if identity in few:
        assert operation["security"] == []
    else:
        assert "security" not in operation
        assert {"400", "401", "403", "429", "500", "503"} <= operation["responses"].keys()


def kinds(base: type[errors.SluicegateError]) -> Iterator[type[errors.SluicegateError]]:
    for kind in base.__subclasses__():
        yield kind
        yield from kinds(kind)


def test_every_error_of_the_table_is_in_the_document() -> None:
    described = {
        (int(status), code)
        for status, response in DOCUMENT["components"]["responses"].items()
        for schema in response["content"]["application/json"]["schema"]["allOf"]
        for code in schema.get("properties", {}).get("errorCode", {}).get("enum", [])
    }
    raised = {
        (kind.status, kind.code)
        for kind in kinds(errors.SluicegateError)
        if not kind.__module__.startswith("sluicegate.delegation")  # a service of its own
    }
    # Answered before any operation is known, or where there is none.
    elsewhere = {
        (405, "METHOD_NOT_ALLOWED"),
        (408, "REQUEST_TIMEOUT"),
        (431, "REQUEST_TOO_LARGE"),
    }
    assert described == raised - elsewhere
