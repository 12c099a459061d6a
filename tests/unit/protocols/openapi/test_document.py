"""The OpenAPI document is valid and complete in itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from support.clients.described import DOCUMENT, operations

from sluicegate import __version__
from sluicegate.api import errors
from sluicegate.protocols.openapi.document import document

PARAMETER = re.compile(r"\{(\w+)(:\w+)?\}")
OPERATIONS = {each["operationId"]: each for each in operations(DOCUMENT["paths"]).values()}


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
    links = {f"{verb}{kind}File" for verb in ("read", "check") for kind in ("", "Derived", "Iceberg")}
    few = {"openapi", "health", "live", "ready", "token", "icebergToken", *links}
    few |= {"readObject", "checkObject", "showActivation", "useActivation", "activationStyle"}
    if identity in few or identity.startswith("refuseUnsigned"):
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
        if not kind.__module__.startswith(
            ("sluicegate.delegation", "sluicegate.admin")
        )  # documents of their own
    }
    # Answered before any operation is known, or where there is none.
    elsewhere = {
        (405, "METHOD_NOT_ALLOWED"),
        (408, "REQUEST_TIMEOUT"),
        (431, "REQUEST_TOO_LARGE"),
    }
    assert described == raised - elsewhere


def test_addresses_are_those_of_the_gateway() -> None:
    made = document("https://other.example")
    assert made["servers"] == [{"url": "https://other.example"}]
    flow = made["components"]["securitySchemes"]["accessToken"]["flows"]["clientCredentials"]
    assert flow["tokenUrl"] == "https://other.example/oauth/token"
    assert made["paths"] == DOCUMENT["paths"]


def test_a_bearer_token_or_an_access_token_is_needed_in_general() -> None:
    assert DOCUMENT["security"] == [{"bearerToken": []}, {"accessToken": ["delta-sharing"]}]
    assert DOCUMENT["info"]["version"] == __version__
