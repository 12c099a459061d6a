"""Responses are described with the statuses, headers and codes that the gateway sends."""

from __future__ import annotations

import json

import pytest
from support.clients.described import fits, fitting

from sluicegate.api import errors
from sluicegate.http.responses import error_response
from sluicegate.protocols.openapi import responses

SENT = [
    *(errors.InvalidRequest, errors.MalformedRequest, errors.UnsupportedOperation),
    *(errors.TableUnreadable, errors.Unauthenticated, errors.PermissionDenied, errors.NotFound),
    *(errors.PayloadTooLarge, errors.RateLimited, errors.SluicegateError, errors.Unavailable),
]


@pytest.mark.parametrize("kind", SENT)
def test_every_error_is_sent_as_described(kind: type[errors.SluicegateError]) -> None:
    sent = error_response(kind("wrong"))
    described = responses.error_responses()[str(sent.status_code)]
    body = json.loads(bytes(sent.body))
    assert fits("Error", body)
    _, of_status = described["content"]["application/json"]["schema"]["allOf"]
    assert fitting(of_status).is_valid(body)
    required = {name.lower() for name, each in described["headers"].items() if each["required"]}
    assert required - {"x-request-id"} == set(sent.headers) & {"www-authenticate", "retry-after"}


def test_the_codes_of_a_status_are_listed_once_and_no_others_fit() -> None:
    _, schema = responses.error_responses()["400"]["content"]["application/json"]["schema"]["allOf"]
    codes = schema["properties"]["errorCode"]["enum"]
    assert codes == sorted({kind.code for kind in SENT if kind.status == 400})
    assert not fitting(schema).is_valid({"errorCode": "RESOURCE_DOES_NOT_EXIST"})


@pytest.mark.parametrize("body", [{}, {"errorCode": "X"}, {"errorCode": 1, "message": ""}, []])
def test_an_error_has_a_code_and_a_message(body: object) -> None:
    assert not fits("Error", body)


def test_the_description_of_an_error_is_the_first_line_of_its_docstring() -> None:
    described = responses.error_responses()
    assert described["404"]["description"].startswith("The object does not exist, or is not granted.")
    assert described["500"]["description"] == "An internal error."
    assert len(described["400"]["description"].split(". ")) >= 4


def test_refusals_are_references_to_these() -> None:
    assert responses.refusals(["404", "500"]) == {
        "404": {"$ref": "#/components/responses/404"},
        "500": {"$ref": "#/components/responses/500"},
    }
    assert responses.refusals([]) == {}


def test_every_response_has_a_request_id() -> None:
    made = [
        responses.json_answer("A.", "Table"),
        responses.version_answer(),
        responses.lines_answer("A.", "QueryAnswer"),
        *responses.error_responses().values(),
    ]
    assert all(each["headers"]["x-request-id"]["required"] for each in made)


def test_the_media_types_have_no_charset() -> None:
    assert list(responses.json_answer("A.", "Table")["content"]) == ["application/json"]
    assert list(responses.lines_answer("A.", "Lines")["content"]) == ["application/x-ndjson"]
    assert "content" not in responses.version_answer()


def test_responses_about_tables_have_the_headers_of_the_protocol() -> None:
    headers = responses.lines_answer("A.", "QueryAnswer")["headers"]
    required = {name for name, header in headers.items() if header.get("required")}
    assert required == {"Delta-Table-Version", "delta-sharing-capabilities", "x-request-id"}
    assert fitting(headers["fileidhash"]["schema"]).is_valid("delta")


def test_a_refusal_of_one_endpoint_has_one_code() -> None:
    described = responses.refusal("No.", "PRECONDITION_FAILED")
    _, schema = described["content"]["application/json"]["schema"]["allOf"]
    assert schema["properties"]["errorCode"]["enum"] == ["PRECONDITION_FAILED"]
