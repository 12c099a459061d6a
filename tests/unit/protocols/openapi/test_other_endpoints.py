"""Endpoints without a bearer token are described: health checks, access tokens and file links."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import orjson
import pytest
from starlette.applications import Starlette
from support.clients.asgi import ask
from support.clients.described import PATHS, fits, fitting
from support.clients.described import operations as operations_of

from sluicegate.access.authentication.oauth.endpoint import (
    TOKEN_PATHS,
    granted_response,
    refusal_response,
)
from sluicegate.access.authentication.oauth.requests import FORM, SCOPES, OAuthError
from sluicegate.http.health import HEALTH_PATHS, health_routes
from sluicegate.protocols.file_links.links import ContentLinks

PROTOCOLS = ("/delta-sharing/", "/iceberg/")
OTHERS = {path: item for path, item in PATHS.items() if not path.startswith(PROTOCOLS)}
LINKS = [path for path in PATHS if path.startswith("/content/")]


OPERATIONS = [*operations_of(OTHERS).values()]


def test_none_of_them_needs_a_token_and_ids_are_distinct() -> None:
    assert [each["security"] for each in OPERATIONS] == [[]] * len(OPERATIONS)
    assert len({each["operationId"] for each in OPERATIONS}) == len(OPERATIONS)


async def test_health_checks_respond_as_described() -> None:
    async def well() -> None:
        return None

    app = Starlette(routes=health_routes(well))
    for path in HEALTH_PATHS:
        answer = await ask(app, path)
        assert fits("Health", answer.json)
        assert str(answer.status) in PATHS[path]["get"]["responses"]
    assert not fits("Health", {"status": "down"})
    assert "503" not in PATHS["/livez"]["get"]["responses"]


def test_a_token_is_requested_by_a_form_at_both_paths() -> None:
    for path in TOKEN_PATHS:
        assert list(PATHS[path]["post"]["requestBody"]["content"]) == [FORM]
    assert fits("TokenRequest", {"grant_type": "client_credentials", "scope": SCOPES[0]})
    assert not fits("TokenRequest", {"grant_type": "password"})
    assert not fits("TokenRequest", {"scope": SCOPES[0]})


def test_a_token_and_the_reasons_for_none_fit_as_they_are_sent() -> None:
    token = {"access_token": "a", "token_type": "bearer", "expires_in": 60, "scope": "catalog"}
    assert fits("AccessToken", orjson.loads(granted_response(token).body))
    assert not fits("AccessToken", token | {"token_type": "mac"})
    for status in (400, 401, 429):
        refused = refusal_response(OAuthError("invalid_client", "unknown client", status))
        assert fits("OAuthError", orjson.loads(refused.body))
        assert str(refused.status_code) in PATHS[TOKEN_PATHS[0]]["post"]["responses"]


@pytest.mark.parametrize("path", LINKS)
def test_the_parameters_of_links_are_those_that_are_signed(path: str) -> None:
    described = {each["name"]: each for each in PATHS[path]["parameters"] if each["in"] == "query"}
    (url,) = ContentLinks(b"k", "https://share.example", "lake").sign(["a"], 60).urls
    signed = dict(parse_qsl(urlsplit(url).query))
    assert described.keys() == signed.keys()
    for name, value in signed.items():
        assert described[name]["required"]
        assert fitting(described[name]["schema"]).is_valid(value)
        assert not fitting(described[name]["schema"]).is_valid(f"{value}+")


@pytest.mark.parametrize("path", LINKS)
def test_links_can_be_read_in_ranges_and_with_conditions(path: str) -> None:
    headers = {each["name"] for each in PATHS[path]["parameters"] if each["in"] == "header"}
    assert headers == {
        *("Range", "If-Range", "If-Match", "If-None-Match"),
        *("If-Modified-Since", "If-Unmodified-Since"),
    }
    for method in ("get", "head"):
        statuses = PATHS[path][method]["responses"].keys()
        assert {"200", "206", "304", "403", "404", "412", "416", "429"} <= statuses
