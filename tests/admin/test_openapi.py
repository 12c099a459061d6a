"""The OpenAPI document of the Admin API describes all routes, as they respond."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import hypothesis.strategies as st
import jsonschema_rs
import pytest
from admin.conftest import Site
from admin.test_roles import BODIES, NAMES, operations, target
from hypothesis import HealthCheck, given, settings
from starlette.routing import Route
from support.clients.asgi import Answer
from support.servers.migrated import new_sqlite

from sluicegate.admin.identity import ROLES
from sluicegate.admin.services.audit import AUDIT_FILTERS
from sluicegate.admin.services.tasks import TASK_FILTERS
from sluicegate.admin.services.usage import PARAMETERS, READS
from sluicegate.audit.records import ActorKind, Outcome
from sluicegate.protocols.common.parameters import MAX_RESULTS
from sluicegate.vending.entries import KINDS
from sluicegate.vending.usage.models import MAX_ROWS, USAGE_BY

PARAMETER = re.compile(r"\{(\w+)\}")


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind of database is enough: the other modules use both."""
    return new_sqlite(tmp_path / "sluicegate.db")


async def document(site: Site) -> dict[str, Any]:
    if site.document is None:
        answer = await site.ask("GET", "/openapi.json", role=None)
        assert answer.status == 200
        site.document = answer.json
    return dict(site.document)


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from ([value["$ref"]] if isinstance(value.get("$ref"), str) else [])
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from references(each)


async def test_every_route_is_described_and_every_description_is_a_route(site: Site) -> None:
    served = {
        (route.path, method)
        for route in site.gateway.routes()
        if isinstance(route, Route) and route.path.startswith("/admin")
        for method in route.methods or ()
        if method != "HEAD"
    }
    described = await document(site)
    assert served == {
        (path, method.upper())
        for path, item in described["paths"].items()
        for method in item
        if method != "parameters"
    }
    for path, item in described["paths"].items():
        names = [each["name"] for each in item.get("parameters", ())]
        assert names == PARAMETER.findall(path)


async def test_the_document_is_valid_and_complete(site: Site) -> None:
    described = await document(site)
    components = described["components"]
    for schema in components["schemas"].values():
        jsonschema_rs.meta.validate({**schema, "components": components})
    known = {f"#/components/schemas/{name}" for name in components["schemas"]}
    assert set(references(described)) <= known
    ids = [each["operationId"] for item in described["paths"].values() for each in _of(item)]
    assert len(ids) == len(set(ids)) > 20


def _of(item: dict[str, Any]) -> list[dict[str, Any]]:
    return [operation for method, operation in item.items() if method != "parameters"]


def _check(described: dict[str, Any], operation: dict[str, Any], answer: Answer) -> None:
    response = operation["responses"][str(answer.status)]
    if "content" not in response:
        assert answer.body == b""
        return
    schema = {
        **response["content"]["application/json"]["schema"],
        "components": described["components"],
    }
    jsonschema_rs.validator_for(schema, validate_formats=True).validate(answer.json)


async def test_values_that_the_document_repeats_are_those_of_the_code(site: Site) -> None:
    components = (await document(site))["components"]["schemas"]

    def values(schema: str, name: str) -> list[str]:
        fields = components[schema]["properties"]
        return list(fields.get("items", {}).get("items", {}).get("properties", fields)[name]["enum"])

    assert values("Ledger", "kind") == [*KINDS]
    assert values("Audit", "actor_kind") == [*get_args(ActorKind)]
    assert values("Audit", "outcome") == [*get_args(Outcome)]
    assert components["Me"]["properties"]["role"]["enum"] == [*ROLES]
    for schema in ("OfferedUsage", "ReadUsage"):
        assert components[schema]["properties"]["by"]["enum"] == [*USAGE_BY]


async def test_parameters_are_those_that_are_read(site: Site) -> None:
    described = {
        each["operationId"]: {
            parameter["name"]: parameter["schema"]
            for parameter in each.get("parameters", ())
            if parameter["in"] == "query"
        }
        for item in (await document(site))["paths"].values()
        for each in _of(item)
    }
    paged = ("maxResults", "pageToken")
    assert described["listAudit"].keys() == {*AUDIT_FILTERS, *paged}
    assert described["listTasks"].keys() == {*TASK_FILTERS, *paged}
    assert described["getUsage"].keys() == {*PARAMETERS, READS}
    assert f"up to {MAX_ROWS}." in described["getUsage"]["limit"]["description"]
    assert ", ".join(KINDS) in described["listLedger"]["kind"]["description"]
    assert ", ".join(get_args(Outcome)) in described["listAudit"]["outcome"]["description"]
    for parameters in described.values():
        assert parameters.get("maxResults", {}).get("maximum", MAX_RESULTS) == MAX_RESULTS
    for route in operations(site):
        names = described[route.operation] if route.method == "GET" else {}
        for name in (*names, "unknown") if names else ():
            answer = await site.ask("GET", f"{route.path.format_map(NAMES)}?{name}=%00")
            is_unknown = b"unknown parameter" in answer.body
            assert is_unknown is (name == "unknown"), (route.operation, name)


async def test_descriptions_name_the_role_and_whether_it_is_for_all_shares(site: Site) -> None:
    described = {
        each["operationId"]: each
        for item in (await document(site))["paths"].values()
        for each in _of(item)
    }
    for route in operations(site):
        for_all = " for all shares" if route.all_shares else ""
        expected = f"Requires the role `{route.role}`{for_all}."
        assert described[route.operation]["description"] == expected
        body = described[route.operation].get("requestBody")
        model = route.body and f"#/components/schemas/{route.body.__name__}"
        assert (body and body["content"]["application/json"]["schema"]["$ref"]) == model


async def test_responses_and_errors_are_as_described(site: Site) -> None:
    described = await document(site)
    for route in operations(site):
        operation = described["paths"][f"/admin/v1{route.path}"][route.method.lower()]
        for role in ("owner", "viewer", None):
            answer = await site.ask(route.method, target(route), BODIES.get(route.operation), role=role)
            _check(described, operation, answer)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "shares",
                    "schemas",
                    "tables",
                    "catalog",
                    "table",
                    "from",
                    "comment",
                    "name",
                    "kind",
                    "properties",
                ]
            )
            | st.text(max_size=8),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
async def test_any_body_gets_a_described_response(site: Site, data: st.DataObject) -> None:
    described = await document(site)
    bodies = [route for route in operations(site) if route.body is not None]
    route = data.draw(st.sampled_from(bodies))
    body = data.draw(VALUES | st.binary(max_size=30))
    answer = await site.ask(route.method, target(route), body)
    operation = described["paths"][f"/admin/v1{route.path}"][route.method.lower()]
    assert answer.status < 500
    _check(described, operation, answer)
