"""Plans of Iceberg clients: right, half right and damaged requests, and tokens of other tables."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import hypothesis.strategies as st
import orjson
import pytest
from support.fuzz import fuzz_values as values
from support.fuzz.damaged_json import KINDS, written
from support.fuzz.fuzz_strategies import HeaderPair, mutated
from support.fuzz.fuzzing import Fuzzer
from support.fuzz.iceberg_places import IcebergPlace, decoded_token, file_part
from support.fuzz.plan_bodies import PlanBodies
from support.gateways.in_process import Answer

from sluicegate.protocols.iceberg_rest.planning import plan_scan

_ODD: tuple[Any, ...] = (
    *(None, True, 0, 1.5, [], {}, [[]], {"type": "and"}, {"type": "not", "child": {}}, "id"),
    *(*values.INTEGERS, *values.NAMES, *values.NUMERALS, *values.TIMESTAMPS),
)
_CLIENTS = ("PyIceberg/0.12.0", "PyIceberg/0." + "9" * 400, "Java/17", "")
_DELEGATIONS = ("remote-signing",) * 6 + ("vended-credentials", "remote-signing,x", ",", "")
_TYPES = ("application/json",) * 6 + ("application/json; charset=utf-16", "text/plain", "", "a/b" * 900)
_CODINGS = ("identity", "gzip", "deflate", "br, gzip", "x")


@pytest.fixture(scope="module", autouse=True)
def small_pages() -> Iterator[None]:
    """Answers in parts of two files, so that small tables have plan tasks, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_scan, "page_size", lambda residual: 2)
        yield


def test_plans(fuzzer: Fuzzer, iceberg_places: list[IcebergPlace]) -> None:
    def act(number: int) -> None:
        dice = random.Random(number)
        place = dice.choice(iceberg_places)
        document = PlanBodies(place.table, dice).body()
        damaged = dice.random() < 0.5
        body = dice.choice(KINDS)(document, dice, _ODD) if damaged else written(document)
        answer = fuzzer.ask("POST", f"{place.path}/plan", _headers(dice), body)
        if answer.status == 200:
            _judge(fuzzer, place, answer)

    fuzzer.run("plans", st.integers(0, 2**63), act)


def test_changed_plan_tokens_are_refused(fuzzer: Fuzzer, iceberg_places: list[IcebergPlace]) -> None:
    plannable = [place for place in iceberg_places if place.files]
    tokens = [(place, *each) for place in plannable for each in _tokens(fuzzer, place)]
    known = {(kind, place.path, decoded_token(token)) for place, kind, token in tokens}
    genuine = sorted({token for _, _, token in tokens})

    def act(sent: tuple[str, IcebergPlace, str]) -> None:
        token, place, kind = sent
        answer = _ask_with(fuzzer, place, kind, token)
        # A token with a slash is another address, below which nothing can be deleted.
        if (kind, place.path, decoded_token(token)) not in known and token.strip("./"):
            assert answer.status in (400, 403, 404), (answer, place.path)

    kinds = st.sampled_from(("plan", "plan", "task", "task", "cancel"))
    fuzzer.run("plan tokens", st.tuples(mutated(genuine), st.sampled_from(plannable), kinds), act)


def test_tokens_of_other_recipients_are_refused(
    fuzzer: Fuzzer, rival: Fuzzer, iceberg_places: list[IcebergPlace]
) -> None:
    for place in iceberg_places:
        for kind, token in _tokens(fuzzer, place):
            assert _ask_with(rival, place, kind, token).status in (400, 403, 404)


def _tokens(fuzzer: Fuzzer, place: IcebergPlace) -> Iterator[tuple[str, str]]:
    plan = fuzzer.ask("POST", f"{place.path}/plan", place.headers, b"{}")
    if plan.status == 200:
        yield "plan", plan.json["plan-id"]
        yield "cancel", plan.json["plan-id"]
        yield from (("task", token) for token in plan.json["plan-tasks"][:2])


def _ask_with(fuzzer: Fuzzer, place: IcebergPlace, kind: str, token: str) -> Answer:
    if kind == "task":
        body = orjson.dumps({"plan-task": token.encode("utf-8", "replace").decode()})
        return fuzzer.ask("POST", f"{place.path}/tasks", place.headers, body)
    method = "GET" if kind == "plan" else "DELETE"
    return fuzzer.ask(method, f"{place.path}/plan/{quote(token, safe='')}", place.headers)


def _headers(dice: random.Random) -> list[HeaderPair]:
    return [
        ("x-iceberg-access-delegation", dice.choice(_DELEGATIONS)),
        ("user-agent", dice.choice(_CLIENTS)),
        ("content-type", dice.choice(_TYPES)),
        ("accept-encoding", dice.choice(_CODINGS)),
    ]


def _judge(fuzzer: Fuzzer, place: IcebergPlace, answer: Answer) -> None:
    """A plan is complete, its parts can be fetched, and it names nothing that is hidden."""
    plan = answer.json
    assert plan["status"] == "completed"
    _judge_tasks(place, plan)
    for token in plan["plan-tasks"][:1]:
        body = orjson.dumps({"plan-task": token})
        part = fuzzer.ask("POST", f"{place.path}/tasks", place.headers, body)
        assert part.status in (200, 413), part
        if part.status == 200:
            _judge_tasks(place, part.json)
    again = fuzzer.ask("GET", f"{place.path}/plan/{plan['plan-id']}", place.headers)
    assert again.status in (200, 404)
    assert again.status == 200 or "too large" in again.json["error"]["message"]


def _judge_tasks(place: IcebergPlace, plan: dict[str, Any]) -> None:
    for task in plan["file-scan-tasks"]:
        assert place.hidden is None or place.hidden not in file_part(task["data-file"]["file-path"])
        assert "residual-filter" in task
        for reference in task.get("delete-file-references", ()):
            assert plan["delete-files"][reference]
