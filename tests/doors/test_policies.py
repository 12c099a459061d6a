"""Policies of an installed plugin narrow what recipients see, at every door and in sets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from support.deltalog import DeltaFolder, add, metadata, protocol
from support.iceberg_door import written
from support.iceberg_lake import PLUGIN
from support.in_process import Answer, Request
from support.vending_files import SHARE, VendingGateway, vending_gateway

from sluicegate.access.policies import Policies
from sluicegate.api import Policy, PolicyAction, Principal, SharedTable, Unavailable

POLICY = """
from sluicegate.api import PluginConfig, Policy, PolicyType, hookimpl

class Config(PluginConfig):
    property: str = "hides"

class Hiding(Policy):
    def __init__(self, config, context):
        self.hidden, self.kept, self.failure, self.asked = set(), set(), None, []
        self.added, self.seen, self.closed = False, frozenset(), False
    async def allowed(self, principal, action, tables):
        self.asked.append((principal.name, action, sorted(table.name for table in tables)))
        if self.failure:
            raise self.failure
        self.seen |= tables
        held_back = self.hidden if action == "read" else self.kept
        left = frozenset(table for table in tables if table.name not in held_back)
        return left | self.seen if self.added else left
    async def aclose(self):
        self.closed = True

@hookimpl
def sluicegate_register_policies():
    return [PolicyType("own", Config, Hiding)]

@hookimpl
def sluicegate_register_capabilities():
    return {"own-audit": "full"}
"""
NAMESPACE = "/iceberg/v1/shares/sales/namespaces/eu"
DELEGATED = {"x-iceberg-access-delegation": "vended-credentials"}
TABLE = f"{SHARE}/schemas/eu/tables/orders"
ICEBERG = f"{NAMESPACE}/tables/orders"
# By the access modes that they are shared with.
TABLES = {name: ["url", "dir"] for name in ("clicks", "orders", "visits")} | {
    "plain": ["url"],
    "vault": ["dir"],
}
NAMES = sorted(TABLES)
CAPABILITIES = "delta-sharing-capabilities"


class Doors:
    """A gateway with two policies of one kind, and a recipient at each of its doors."""

    def __init__(self, vending: VendingGateway) -> None:
        self.vending = vending
        policies = vending.served.gateway.instances.policies
        assert list(policies) == ["own-1", "own-2"]
        self.first: Any = policies["own-1"]
        self.second: Any = policies["own-2"]

    def reset(self) -> None:
        for policy in (self.first, self.second):
            policy.hidden, policy.kept, policy.failure, policy.asked = set(), set(), None, []
            policy.added = False

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        known = [("authorization", f"Bearer {self.vending.token}"), *headers.items()]
        return self.vending.served.send(Request(method, path, known, body))

    def listed(self, path: str) -> list[str]:
        answer = self.ask("GET", path)
        assert answer.status == 200, answer.body
        return [item["name"] for item in answer.json.get("items") or answer.json.get("identifiers", [])]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    folder = tmp_path_factory.mktemp("policies")
    lake, listing = folder / "lake", folder / "listing.json"
    names = ("orders", "visits")
    known = {name: written(lake, name, format="iceberg", metadata="v3.metadata.json") for name in names}
    listing.write_text(json.dumps(known))
    for name in TABLES.keys() - known.keys():
        DeltaFolder(lake / name).commit(0, protocol(), metadata(), add("a.parquet"))
    with vending_gateway(
        folder,
        {
            name: {"access_modes": modes} | ({"catalog": "lake"} if name in known else {})
            for name, modes in TABLES.items()
        },
        catalogs={"lake": {"type": "listed", "file": str(listing)}},
        plugins={"listed": PLUGIN, "own": POLICY},
        sections={"policies": [{"type": "own"}, {"type": "own"}]},
    ) as vending:
        yield Doors(vending)


@pytest.fixture
def doors(gateway: Doors) -> Iterator[Doors]:
    yield gateway
    gateway.reset()


READS: list[tuple[str, str, dict[str, str]]] = [
    ("GET", TABLE, {}),
    ("GET", f"{TABLE}/version", {}),
    ("GET", f"{TABLE}/metadata", {}),
    ("POST", f"{TABLE}/query", {}),
    ("GET", f"{TABLE}/changes?startingVersion=0", {}),
    ("HEAD", ICEBERG, {}),
    ("GET", ICEBERG, {}),
    ("POST", f"{ICEBERG}/metrics", {}),
]
VENDS = [
    ("POST", f"{TABLE}/temporary-table-credentials", {}),
    ("POST", f"{TABLE}/hadoop-delegation-token", {}),
    ("GET", ICEBERG, DELEGATED),
    ("GET", f"{ICEBERG}/credentials", {}),
]


@pytest.mark.parametrize(("method", "path", "headers"), READS + VENDS)
def test_a_table_that_a_policy_hides_does_not_exist(
    doors: Doors, method: str, path: str, headers: dict[str, str]
) -> None:
    doors.second.hidden = {"orders"}
    hidden = doors.ask(method, path, b"{}", **headers)
    missing = doors.ask(method, path.replace("orders", "nothing"), b"{}", **headers)
    assert hidden.status == missing.status == 404
    assert hidden.body.replace(b"orders", b"nothing") == missing.body


@pytest.mark.parametrize(
    "path", [f"{SHARE}/schemas/eu/tables", f"{SHARE}/all-tables", f"{NAMESPACE}/tables"]
)
def test_a_listing_asks_for_a_page_at_once_and_later_policies_for_what_is_left(
    doors: Doors, path: str
) -> None:
    shared = ["orders", "visits"] if path.startswith(NAMESPACE) else NAMES
    assert doors.listed(path) == shared
    doors.reset()
    doors.first.hidden = {"visits"}
    left = [name for name in shared if name != "visits"]
    assert doors.listed(path) == left
    by_directory = [name for name in NAMES if "dir" in TABLES[name]]
    asked, offered = NAMES, [("acme", "vend", ["clicks", "orders", "vault"])]
    if path.startswith(NAMESPACE):
        asked, offered = by_directory, []
    assert doors.first.asked == [("acme", "read", asked), *offered]
    seen = [name for name in asked if name != "visits"]
    assert doors.second.asked == [("acme", "read", seen), *offered]


def test_what_a_policy_adds_does_not_count(doors: Doors) -> None:
    path = f"{SHARE}/all-tables"
    assert doors.listed(path) == NAMES
    doors.first.hidden, doors.second.added = {"visits"}, True
    assert doors.listed(path) == [name for name in NAMES if name != "visits"]


def test_where_nothing_is_left_no_policy_is_asked(doors: Doors) -> None:
    doors.first.hidden = set(NAMES)
    assert doors.listed(f"{SHARE}/all-tables") == []
    assert doors.second.asked == []


@pytest.mark.parametrize(("method", "path", "headers"), VENDS)
def test_credentials_may_be_held_back_from_who_may_read(
    doors: Doors, method: str, path: str, headers: dict[str, str]
) -> None:
    doors.first.kept = {"orders"}
    answer = doors.ask(method, path, b"{}", **headers)
    assert answer.status == 403
    assert b"the provider's policies allow no temporary credentials for sales.eu.orders" in answer.body
    assert [action for _, action, _ in doors.first.asked] == ["read", "vend"]
    assert doors.ask("GET", TABLE).status == doors.ask("GET", ICEBERG).status == 200


@pytest.mark.parametrize("path", [f"{SHARE}/schemas/eu/tables", f"{SHARE}/all-tables"])
def test_a_listing_shows_no_directory_that_a_policy_keeps_back(doors: Doors, path: str) -> None:
    def told() -> dict[str, list[str] | None]:
        items = doors.ask("GET", path).json["items"]
        assert all(("accessModes" in item) is ("location" in item) for item in items)
        return {item["name"]: item["accessModes"] for item in items if "accessModes" in item}

    offered = {"clicks": ["url", "dir"], "vault": ["dir"]}
    assert told() == offered
    doors.first.kept = {"clicks"}
    assert told() == {"vault": ["dir"]}
    doors.second.kept = {"vault"}
    assert told() == {}
    doors.reset()
    assert told() == offered


def test_no_answer_about_a_table_shows_a_directory_that_a_policy_keeps_back(doors: Doors) -> None:
    path = TABLE.replace("orders", "clicks")
    for kept, is_offered, agreed in ((set[str](), True, "url,dir"), ({"clicks"}, False, "url")):
        doors.first.kept = kept
        assert ("accessModes" in doors.ask("GET", path).json) is is_offered
        answer = doors.ask("GET", f"{path}/metadata", b"", **{CAPABILITIES: "accessmode=url,dir"})
        assert f"accessmode={agreed};" in f"{answer.headers[CAPABILITIES]};"
        assert (b'"accessModes"' in answer.body) is (b'"location"' in answer.body) is is_offered


def test_a_table_whose_credentials_are_kept_back_has_one_format_less(doors: Doors) -> None:
    assert doors.ask("GET", TABLE).json["format"] == "delta,iceberg"
    doors.first.kept = {"orders"}
    assert doors.ask("GET", TABLE).json["format"] == "delta"


def test_a_table_that_is_left_no_way_of_access_says_so(doors: Doors) -> None:
    doors.first.kept = {"vault"}
    path = TABLE.replace("orders", "vault")
    assert "accessModes" not in doors.ask("GET", path).json
    answer = doors.ask("POST", f"{path}/query", b"{}")
    assert answer.status == 400
    assert b"temporary credentials cannot be had for it" in answer.body


def test_no_policy_is_asked_about_directories_that_are_not_shared(doors: Doors) -> None:
    assert doors.ask("GET", TABLE.replace("orders", "plain")).status == 200
    assert doors.first.asked == [("acme", "read", ["plain"])]


@pytest.mark.parametrize(("method", "path", "headers"), [*READS, *VENDS])
@pytest.mark.parametrize("failure", ["fault", "unavailable"])
def test_a_policy_that_fails_lets_nothing_through(
    doors: Doors, method: str, path: str, headers: dict[str, str], failure: str
) -> None:
    error = RuntimeError("private words") if failure == "fault" else Unavailable("private words")
    doors.first.failure = error
    answer = doors.ask(method, path, b"{}", **headers)
    assert answer.status == 503
    assert b"private words" not in answer.body
    assert "retry-after" in answer.headers


class Silent(Policy):
    """Never answers."""

    async def allowed(
        self, principal: Principal, action: PolicyAction, tables: frozenset[SharedTable]
    ) -> frozenset[SharedTable]:
        await anyio.sleep_forever()
        return tables


async def test_a_policy_that_does_not_answer_is_not_waited_for() -> None:
    policies = Policies({"own-1": Silent()}, patience=0.05)
    table = SharedTable("1", "sales", "2", "eu", "orders", "lake", "orders")
    with pytest.raises(Unavailable) as raised:
        await policies.readable(Principal("1", "acme", "token"), [table])
    assert raised.value.detail == "own-1: no answer within 0.05 seconds"


def test_capabilities_of_plugins_are_told_with_the_gateways_own(doors: Doors) -> None:
    answer = doors.ask("GET", f"{SHARE}/schemas/eu/tables/clicks/metadata")
    assert answer.headers["delta-sharing-capabilities"] == "responseformat=parquet;own-audit=full"
    assert "delta-sharing-capabilities" not in doors.ask("GET", f"{SHARE}/all-tables").headers


def test_policies_are_closed_with_the_gateway(tmp_path: Path) -> None:
    sections = {"policies": [{"type": "own"}]}
    with vending_gateway(tmp_path, {}, plugins={"own": POLICY}, sections=sections) as vending:
        (policy,) = vending.served.gateway.instances.policies.values()
        assert not getattr(policy, "closed")  # noqa: B009 (the plugin has no type here)
    assert getattr(policy, "closed")  # noqa: B009
