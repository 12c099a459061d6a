"""A limited administrator learns nothing about shares and recipients that it does not manage."""

from __future__ import annotations

import random
import re
from collections.abc import AsyncIterator, Sequence
from itertools import product
from pathlib import Path
from urllib.parse import urlencode

import pytest
from attacks.two_worlds import (
    MANAGED,
    PRIVATE,
    Asked,
    World,
    comparable,
    requests,
    two_worlds,
)
from console.browser import Browser
from starlette.routing import Route
from support.clients.asgi import Answer
from support.process.random_cases import times

from sluicegate.admin.console.endpoint import ConsoleRoute, PageEndpoint

_CHANGING = 90
"""Requests that change something, at random; all that read are sent."""


@pytest.fixture
async def worlds(tmp_path: Path) -> AsyncIterator[tuple[World, World]]:
    """The gateways."""
    async with two_worlds(tmp_path) as made:
        yield made


def _contained(answer: Answer, sent: str) -> list[str]:
    """The private names in a response that were not in its request."""
    text = answer.body.decode() + str(answer.headers)
    return [name for name in PRIVATE if name not in sent and re.search(rf"\b{name}\b", text)]


async def test_no_answer_depends_on_what_an_administrator_does_not_manage(
    worlds: tuple[World, World],
) -> None:
    first, _ = worlds
    wanted = [each for each in requests(first.site) if not each.can_take_a_name]
    reads = [each for each in wanted if each.method == "GET"]
    changes = [each for each in wanted if each.method != "GET"]
    random.Random(7).shuffle(changes)
    for asked in reads + changes[: _CHANGING * times()]:
        answers = [await world.ask(asked) for world in worlds]
        assert comparable(answers[0]) == comparable(answers[1]), asked
        for answer in answers:
            # Records of the audit log contain the names in the administrator's own requests.
            if asked.operation != "listAudit":
                assert _contained(answer, f"{asked.path} {asked.body}") == [], (asked, answer.body)
        if asked.method != "GET" and answers[0].status < 300:
            for world in worlds:
                await world.restore()


_SHARES = ("returns", "sales", "payroll", "absent")
_RECIPIENTS = ("mine", "both", "acme", "zeta", "absent")
_FIELDS: tuple[dict[str, str], ...] = (
    {},
    {"share": "returns"},
    {"share": "fresh"},
    {"recipient": "acme"},
    {"recipient": "absent"},
)


def _pages(world: World) -> list[ConsoleRoute]:
    found: list[ConsoleRoute] = []
    for route in world.site.gateway.routes():
        if isinstance(route, Route) and isinstance(route.endpoint, PageEndpoint):
            found += route.endpoint.routes.values()
    return found


def _targets(route: ConsoleRoute) -> Sequence[str]:
    names = {"schema": "eu", "kind": "table", "name": "orders", "credential": "none"}
    path = re.sub(r":\w+(?=\})", "", route.path)
    return sorted(
        {
            "/console"
            + path.format_map(
                {**names, "task": "none", "chain": "1", "seq": "999999", "rest": "nothing"}
                | {"share": share, "recipient": recipient}
            )
            for share, recipient in product(_SHARES, _RECIPIENTS)
        }
    )


async def _form_token(browser: Browser) -> str:
    page = await browser.open("/console")
    return str(dict(page.form("Log out").form_values())["form_token"])


async def test_no_page_depends_on_what_an_administrator_does_not_manage(
    worlds: tuple[World, World],
) -> None:
    for world in worlds:
        await world.log_in()
    tokens = [await _form_token(world.browser) for world in worlds]
    sent = [
        (route, target, fields)
        for route in _pages(worlds[0])
        for target in _targets(route)
        for fields in ([{}] if route.method == "GET" else _FIELDS)
    ]
    reads = [each for each in sent if each[0].method == "GET"]
    forms = [each for each in sent if each[0].method != "GET"]
    random.Random(7).shuffle(forms)
    for route, target, fields in reads + forms[: _CHANGING // 2 * times()]:
        answers = [
            await world.browser.send(
                route.method, target, urlencode({"form_token": token, **fields}).encode()
            )
            for world, token in zip(worlds, tokens, strict=True)
        ]
        assert comparable(answers[0]) == comparable(answers[1]), (route.method, target, fields)
        for answer in answers:
            if not route.path.startswith("/audit"):
                assert _contained(answer, f"{target} {fields}") == [], (target, fields)
        if route.method != "GET" and answers[0].status < 400:
            for world in worlds:
                await world.restore()


@pytest.mark.parametrize("name", ["acme", "both", "nobody"])
async def test_of_a_name_that_is_taken_only_that_is_known(
    worlds: tuple[World, World], name: str
) -> None:
    taken = await worlds[0].ask(
        Asked("putRecipient", "PUT", f"/recipients/{name}", {"shares": ["returns"]})
    )
    assert taken.status == 403
    assert f"the recipient '{name}'" in taken.json["message"]
    assert (await worlds[0].site.ask("GET", f"/recipients/{name}")).json["name"] == name


async def test_a_grant_answers_itself_only(worlds: tuple[World, World]) -> None:
    path = "/recipients/both/grants/returns"
    kept = await worlds[0].ask(Asked("putGrant", "PUT", path))
    assert (kept.status, kept.json) == (200, {"recipient": "both", "share": "returns"})
    read = await worlds[0].ask(Asked("getGrant", "GET", path))
    assert read.headers["etag"] == kept.headers["etag"]
    ended = await worlds[0].ask(
        Asked("deleteGrant", "DELETE", path, None, (("If-Match", kept.headers["etag"]),))
    )
    assert (ended.status, ended.body) == (204, b"")
    assert (await worlds[0].site.ask("GET", "/recipients/both")).json["shares"] == ["sales"]
    listed = await worlds[0].ask(Asked("listGrants", "GET", f"/shares/{MANAGED[0]}/grants"))
    assert [each["recipient"] for each in listed.json["items"]] == ["mine"]
