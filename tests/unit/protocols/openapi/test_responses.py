"""Responses are described with the statuses, headers and codes that the gateway sends."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from support.clients.described import DOCUMENT, PATHS, fits, fitting, operations, paths_below

from sluicegate.access.activation.link import LinkEnded
from sluicegate.api import errors
from sluicegate.http.responses import JSON, NDJSON, error_response
from sluicegate.protocols.delta_sharing.negotiation import HEADER
from sluicegate.protocols.delta_sharing.request import FILE_ID_HASH
from sluicegate.protocols.delta_sharing.response import VERSION_HEADER

RESPONSES: dict[str, dict[str, Any]] = DOCUMENT["components"]["responses"]
SENT = [
    *(errors.InvalidRequest, errors.MalformedRequest, errors.UnsupportedOperation),
    *(errors.TableUnreadable, errors.Unauthenticated, errors.PermissionDenied, errors.NotFound),
    *(errors.PayloadTooLarge, errors.RateLimited, errors.SluicegateError, errors.Unavailable),
    LinkEnded,
]


def media_type(content_type: str) -> str:
    return content_type.partition(";")[0]


def successes() -> list[dict[str, Any]]:
    """The responses of the Delta Sharing protocol with status 200."""
    return [each["responses"]["200"] for each in operations(paths_below("/delta-sharing")).values()]


def lines() -> list[dict[str, Any]]:
    return [each for each in successes() if media_type(NDJSON) in each.get("content", ())]


@pytest.mark.parametrize("kind", SENT)
def test_every_error_is_sent_as_described(kind: type[errors.SluicegateError]) -> None:
    sent = error_response(kind("wrong"))
    described = RESPONSES[str(sent.status_code)]
    body = json.loads(bytes(sent.body))
    assert fits("Error", body)
    _, of_status = described["content"]["application/json"]["schema"]["allOf"]
    assert fitting(of_status).is_valid(body)
    required = {name.lower() for name, each in described["headers"].items() if each["required"]}
    assert required - {"x-request-id"} == set(sent.headers) & {"www-authenticate", "retry-after"}


@pytest.mark.parametrize("status", RESPONSES)
def test_the_codes_of_a_status_are_listed_once_and_no_others_fit(status: str) -> None:
    _, schema = RESPONSES[status]["content"]["application/json"]["schema"]["allOf"]
    codes = schema["properties"]["errorCode"]["enum"]
    assert codes == sorted({kind.code for kind in SENT if str(kind.status) == status})
    assert not fitting(schema).is_valid({"errorCode": "ANOTHER"})


@pytest.mark.parametrize("body", [{}, {"errorCode": "X"}, {"errorCode": 1, "message": ""}, []])
def test_an_error_has_a_code_and_a_message(body: object) -> None:
    assert not fits("Error", body)


@pytest.mark.parametrize("status", RESPONSES)
def test_the_description_of_an_error_is_the_first_line_of_its_docstring(status: str) -> None:
    kinds = [kind for kind in SENT if str(kind.status) == status]
    said = [inspect.cleandoc(kind.__doc__ or "").splitlines()[0] for kind in kinds]
    expected = "An internal error." if status == "500" else " ".join(said)
    assert RESPONSES[status]["description"] == expected


def test_every_response_but_those_of_preconditions_has_a_request_id() -> None:
    described = [
        (status, response)
        for operation in operations(PATHS).values()
        for status, response in operation["responses"].items()
        if "$ref" not in response
    ]
    for status, response in [*described, *RESPONSES.items()]:
        if status not in ("412", "416"):
            assert response["headers"]["x-request-id"]["required"], response


def test_the_media_types_have_no_charset() -> None:
    known = {media_type(JSON), media_type(NDJSON), "application/octet-stream"}
    assert {each for response in successes() for each in response.get("content", ())} == known


def test_responses_about_tables_have_the_headers_of_the_protocol() -> None:
    assert len(lines()) == 4
    for response in lines():
        headers = response["headers"]
        required = {name for name, header in headers.items() if header.get("required")}
        assert required == {VERSION_HEADER, HEADER, "x-request-id"}
        assert fitting(headers[FILE_ID_HASH]["schema"]).is_valid("delta")


def test_a_response_with_only_a_version_has_no_content() -> None:
    without = [each for each in successes() if "content" not in each]
    assert len(without) == 2
    for response in without:
        assert response["headers"].keys() == {VERSION_HEADER, "x-request-id"}
