"""Requests made up from the OpenAPI document, right and wrong ones: answers are as it says."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
import requests
import schemathesis
from hypothesis.strategies import SearchStrategy
from schemathesis import Case, GenerationMode
from schemathesis.core.result import Ok
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from support.fuzz.fuzzing import Fuzzer
from support.gateways.in_process import Answer, Request

from sluicegate.protocols.openapi.document import document

pytestmark = pytest.mark.slow

# `Fuzzer.send` judges server errors: it knows the one table whose store is unreachable.
CHECKS: Any = [
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]
MODES = tuple(GenerationMode)
ADDRESS = "http://127.0.0.1:8080"


@schemathesis.deserializer("application/x-ndjson")
def lines(_: object, response: Response) -> list[Any]:
    """The document describes NDJSON as an array of its lines."""
    return Answer(response.status_code, {}, response.content).lines


def operations(described: dict[str, Any]) -> dict[str, Any]:
    """The operations that take parameters, by their ids."""
    schema = schemathesis.openapi.from_dict(described)
    found = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
    return {
        operation.definition.raw["operationId"]: operation
        for operation in found
        if "{" in operation.path or {"parameters", "requestBody"} & operation.definition.raw.keys()
    }


DOCUMENTED = operations(document(ADDRESS))


def cases(
    operation: Any, mode: GenerationMode, places: list[dict[str, str]]
) -> SearchStrategy[Case[Any]]:
    """Cases of an operation, most of them about something that exists."""
    made: SearchStrategy[Case[Any]] = operation.as_strategy(mode)
    return st.tuples(made, st.sampled_from([*places, {}])).map(lambda pair: _placed(*pair))


def _placed(case: Case[Any], place: dict[str, str]) -> Case[Any]:
    for name, value in place.items():
        if name in case.path_parameters:
            case.path_parameters[name] = value
    return case


_OF_ANY_PATH = ("refuseUnsigned", "readObject", "checkObject")


@pytest.mark.parametrize(
    ("identity", "mode"),
    [
        pytest.param(identity, mode, id=f"{identity}-{mode.value}")
        for identity in DOCUMENTED
        for mode in MODES
        # Any path fits there, so no request can be a wrong one.
        if not (mode is GenerationMode.NEGATIVE and identity.startswith(_OF_ANY_PATH))
    ],
)
def test_answers_are_as_documented(
    fuzzer: Fuzzer,
    places: list[dict[str, str]],
    asset_places: list[dict[str, str]],
    identity: str,
    mode: GenerationMode,
) -> None:
    def act(case: Case[Any]) -> None:
        sent = _prepare(case, fuzzer)
        answer = fuzzer.send(_request(sent))
        headers = {name: [value] for name, value in answer.headers.items()}
        response = Response(answer.status, headers, answer.body, sent, 0.0, verify=False)
        case.validate_response(response, checks=CHECKS)

    operation = DOCUMENTED[identity]
    of_assets = any(f"{{{each}}}" in operation.path for each in ("volume", "model", "skill"))
    fuzzer.run("documented", cases(operation, mode, asset_places if of_assets else places), act)


def _prepare(case: Case[Any], fuzzer: Fuzzer) -> requests.PreparedRequest:
    if case.headers.get("Authorization", "Bearer").startswith("Bearer"):
        case.headers.update([fuzzer.authorization])
    return requests.Request(**case.as_transport_kwargs(base_url=ADDRESS)).prepare()


def _request(sent: requests.PreparedRequest) -> Request:
    headers = [(_text(name), _text(value)) for name, value in sent.headers.items()]
    body = sent.body or b""
    return Request(
        str(sent.method),
        sent.path_url,
        headers,
        body.encode() if isinstance(body, str) else bytes(body),
    )


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")
