"""Explanations agree with what requests get, in random cases."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import pytest
from support.clients.asgi import Answer, Request
from support.gateways.random_world import RandomWorld, random_world

from sluicegate.access.explain.lookups import UnknownName
from sluicegate.api import AssetKind
from sluicegate.protocols.explain.models import AssetPath, Explanation

# `SLUICEGATE_EXPLAIN_CASES=1000 pytest tests/protocols/explain` checks more cases.
CASES = int(os.environ.get("SLUICEGATE_EXPLAIN_CASES", "40"))
SEED = int(os.environ.get("SLUICEGATE_EXPLAIN_SEED", "20261124"))
RECIPIENTS = 5 if CASES > 40 else 2
ADDRESS = "127.0.0.1"
CAPABLE = (
    "responseformat=delta,parquet;readerfeatures=deletionvectors,columnmapping,timestampntz,"
    "varianttype,fromthefuture"
)
TYPES = {
    "RESOURCE_DOES_NOT_EXIST": "NoSuchTableException",
    "PERMISSION_DENIED": "ForbiddenException",
    "UNAUTHENTICATED": "NotAuthorizedException",
    "INVALID_PARAMETER_VALUE": "BadRequestException",
    "UNSUPPORTED_OPERATION": "BadRequestException",
    "TABLE_UNREADABLE": "BadRequestException",
    "TEMPORARILY_UNAVAILABLE": "ServiceUnavailableException",
}


def test_explanations_agree_with_requests(tmp_path: Path) -> None:
    checked = opened = worlds = 0
    while checked < CASES:
        folder = tmp_path / str(worlds)
        folder.mkdir()
        with random_world(folder, SEED + worlds, RECIPIENTS) as world:
            for recipient in world.tokens:
                listings = _Listings(world, recipient)
                for path in world.paths:
                    opened += _check(world, recipient, AssetPath(*path), listings, SEED + worlds)
                    checked += 1
                for kind, *names in world.assets:
                    _check_asset(world, recipient, kind, AssetPath(*names), listings)
                    checked += 1
            for path in world.paths[::3]:
                _check_who_can(world, AssetPath(*path), SEED + worlds)
        worlds += 1
    assert opened > checked / 20, "most of these cases are refused for the same reason"


class _Listings:
    """The names in the listings that a recipient gets; `None` for one that is unavailable."""

    def __init__(self, world: RandomWorld, recipient: str) -> None:
        self._world = world
        self._recipient = recipient
        self._read: dict[str, set[str] | None] = {}

    def of_sharing(self, path: AssetPath) -> set[str] | None:
        target = f"/delta-sharing/shares/{path.share}/schemas/{quote(path.schema)}/tables"
        return self._names(target, "items")

    def of_iceberg(self, path: AssetPath) -> set[str] | None:
        target = f"/iceberg/v1/shares/{path.share}/namespaces/{quote(path.schema)}/tables"
        return self._names(target, "identifiers")

    def of_assets(self, kind: AssetKind, path: AssetPath) -> set[str] | None:
        target = f"/delta-sharing/shares/{path.share}/schemas/{quote(path.schema)}/{kind}s"
        return self._names(target, "items")

    def _names(self, target: str, member: str) -> set[str] | None:
        if target not in self._read:
            answer = _send(self._world, self._recipient, "GET", target)
            items = answer.json[member] if answer.status == 200 else []
            names = {item["name"].casefold() for item in items}
            self._read[target] = None if answer.status == 503 else names
        return self._read[target]


def _check(world: RandomWorld, recipient: str, path: AssetPath, listings: _Listings, seed: int) -> int:
    case = f"seed {seed}: {recipient} {path}"
    got = dict(_requests(world, recipient, path))
    explainer, _ = world.served.gateway.explanations()
    try:
        explained = world.served.run(explainer.explain(recipient, path, address=ADDRESS))
    except UnknownName:
        statuses = {name: answer.status for name, answer in got.items()}
        assert set(statuses.values()) <= {401, 403, 404}, (case, statuses)
        return 0
    if explained.ways:
        if _has_keys(got["iceberg-dir"]):  # of the gateway, which open nothing by themselves
            del got["iceberg-dir"]
        compared = [way for way in explained.ways if way.name in got]
        assert all(way in compared or not way.is_open for way in explained.ways), (case, explained)
        ways = {way.name: (way.status, way.code) for way in compared}
        answers = {name: (answer.status, _code(name, answer)) for name, answer in got.items()}
        for way in compared:
            if not way.is_open and world.tokens[recipient] is not None:
                assert way.reason.startswith(_message(way.name, got[way.name])), (case, explained)
        expected = {
            name: (status, _named(name, code, answers[name][1]))
            for name, (status, code) in ways.items()
        }
        assert expected == answers, (case, explained)
    assert explained.allowed == any(answer.status == 200 for answer in got.values()), (case, explained)
    _check_listed(explained.listed, path, listings.of_sharing(path), case)
    _check_listed(explained.listed_in_iceberg, path, listings.of_iceberg(path), case)
    _check_reasons(explained, case)
    return int(explained.allowed)


def _check_listed(explained: bool | None, path: AssetPath, listing: set[str] | None, case: str) -> None:
    """A listing of the schema `frail` fails as a whole if a policy fails for one of its tables."""
    if listing is None:
        assert not explained or path.schema == "frail", case
    else:
        assert explained == (path.name.casefold() in listing), case


def _check_asset(
    world: RandomWorld, recipient: str, kind: AssetKind, path: AssetPath, listings: _Listings
) -> None:
    case = f"{recipient} {kind} {path}"
    explainer, _ = world.served.gateway.explanations()
    one = f"/delta-sharing/shares/{path.share}/schemas/{path.schema}/{kind}s/{path.name}"
    version = "/versions/1" if kind == "model" else ""
    target = f"{one}{version}/temporary-{kind}-credentials"
    answer = _send(world, recipient, "POST", target, {}, b"{}")
    asked = explainer.explain(recipient, path, address=ADDRESS, kind=kind)
    try:
        explained = world.served.run(asked)
    except UnknownName:
        assert answer.status in (401, 403, 404), case
        return
    [way] = explained.ways
    assert (way.status, way.code) == (answer.status, _code("dir", answer)), (case, explained)
    assert explained.allowed == (answer.status == 200), (case, explained)
    _check_listed(explained.listed, path, listings.of_assets(kind, path), case)


def _check_who_can(world: RandomWorld, path: AssetPath, seed: int) -> None:
    """The list of a table's recipients agrees with the explanation for each of them."""
    explainer, who_can = world.served.gateway.explanations()
    run = world.served.run
    try:
        readers = {each.recipient: each for each in run(who_can.readers(path)).readers}
    except UnknownName:
        return
    for recipient in world.tokens:
        explained = run(explainer.explain(recipient, path))
        granted = not any(
            step.name == "grant" and step.outcome == "refused" for step in explained.steps
        )
        assert granted == (recipient in readers), (seed, path, recipient)
        if granted:
            reader = readers[recipient]
            opened = tuple(way.name for way in explained.ways if way.is_open)
            found = (reader.allowed, reader.ways)
            assert found == (explained.allowed, opened), (seed, path, reader, explained)


def _check_reasons(explained: Explanation, case: str) -> None:
    """A table that cannot be read has a reason, and one that can be read has no refusal to it."""
    refused = [step for step in explained.steps if step.outcome in ("refused", "unavailable")]
    decisive = [step for step in refused if step.name != "policy vend"]
    if explained.allowed:
        assert [step for step in decisive if step.name != "partition_filter"] == [], (case, explained)
    else:
        assert decisive or not any(way.is_open for way in explained.ways), (case, explained)


def _named(way: str, code: str | None, actual: str | None) -> str | None:
    """The code in the protocol of a way. Iceberg names what is missing."""
    if code is None or not way.startswith("iceberg"):
        return code
    return TYPES[code]


def _code(way: str, answer: Answer) -> str | None:
    if answer.status == 200:
        return None
    body = answer.json
    code: str = body["error"]["type"] if way.startswith("iceberg") else body["errorCode"]
    return code


def _message(way: str, answer: Answer) -> str:
    body = answer.json
    message: str = body["error"]["message"] if way.startswith("iceberg") else body["message"]
    return message


def _has_keys(answer: Answer) -> bool:
    [*credentials] = answer.json["storage-credentials"] if answer.status == 200 else []
    return any(each["prefix"].startswith("s3://SG/") for each in credentials)


def _requests(world: RandomWorld, recipient: str, path: AssetPath) -> Mapping[str, Answer]:
    names = [quote(each, safe="") for each in (path.share, path.schema, path.name)]
    share, schema, table = names
    sharing = f"/delta-sharing/shares/{share}/schemas/{schema}/tables/{table}"
    iceberg = f"/iceberg/v1/shares/{share}/namespaces/{schema}/tables/{table}"
    capable = {"delta-sharing-capabilities": CAPABLE}
    signing = {"x-iceberg-access-delegation": "remote-signing"}
    post = f"{sharing}/temporary-table-credentials"
    return {
        "url": _send(world, recipient, "POST", f"{sharing}/query", capable, b"{}"),
        "dir": _send(world, recipient, "POST", post, {}, b"{}"),
        "iceberg": _send(world, recipient, "GET", iceberg, signing),
        "iceberg-dir": _send(world, recipient, "GET", f"{iceberg}/credentials"),
        "hadoop": _send(world, recipient, "POST", f"{sharing}/hadoop-delegation-token", {}, b"{}"),
    }


def _send(
    world: RandomWorld,
    recipient: str,
    method: str,
    target: str,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> Answer:
    sent = list((headers or {}).items())
    token = world.tokens[recipient]
    if token is not None:
        sent.append(("authorization", f"Bearer {token}"))
    return world.served.send(Request(method, target, sent, body))


@pytest.mark.parametrize("recipients", [3])
def test_the_same_seed_makes_the_same_world(tmp_path: Path, recipients: int) -> None:
    made = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        with random_world(tmp_path / name, SEED, recipients) as world:
            made.append(world.paths)
    assert made[0] == made[1]
