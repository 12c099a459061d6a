"""The OpenAPI document says what the gateway serves: no more, no less."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.routing import Route
from support.clients.described import DOCUMENT, operations
from support.gateways.in_process import Request, in_process_gateway

from sluicegate.config import Settings

PARAMETER = re.compile(r"\{(\w+)(:\w+)?\}")


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
    described = {(anonymous(path), method.upper()) for method, path in operations(DOCUMENT["paths"])}
    assert described <= served
    # Starlette answers HEAD wherever it answers GET; the document says so once. OPTIONS is an error.
    assert {each for each in served if each[1] not in ("HEAD", "OPTIONS")} <= described


def test_anybody_gets_the_document_with_the_gateways_own_address(settings: Settings) -> None:
    with in_process_gateway(settings) as running:
        answer = running.send(Request("GET", "/delta-sharing/openapi.json"))
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert answer.json == DOCUMENT
