"""The document is served to everybody."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.applications import Starlette
from support.clients.asgi import ask

from sluicegate.protocols.openapi import document as described
from sluicegate.protocols.openapi.address import DOCUMENT
from sluicegate.protocols.openapi.document import document
from sluicegate.protocols.openapi.route import openapi_route


async def test_anybody_gets_the_document_with_the_gateways_own_address() -> None:
    app = Starlette(routes=[openapi_route("https://share.example", "/delta-sharing")])
    assert DOCUMENT == "/openapi.json"
    answer = await ask(app, f"/delta-sharing{DOCUMENT}")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert answer.json == document("https://share.example")
    assert (await ask(app, "/delta-sharing/openapi.json", method="POST")).status == 405
    assert (await ask(app, "/openapi.json")).status == 404


async def test_the_document_is_built_once_when_it_is_first_requested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built: list[str] = []

    def build(public_url: str) -> dict[str, Any]:
        built.append(public_url)
        return {}

    monkeypatch.setattr(described, "document", build)
    app = Starlette(routes=[openapi_route("https://share.example", "/p")])
    assert built == []
    assert [(await ask(app, "/p/openapi.json")).body for _ in range(2)] == [b"{}"] * 2
    assert built == ["https://share.example"]
