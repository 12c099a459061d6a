"""Policies of an installed plugin narrow what recipients see, in every protocol and in sets."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from support.gateways.iceberg_gateway import written
from support.gateways.iceberg_lake import PLUGIN
from support.gateways.in_process import Answer, Request
from support.gateways.vending_files import SHARE, VendingGateway, vending_gateway
from support.tables.deltalog import DeltaFolder, add, metadata, protocol

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


class PolicyGateway:
    """A gateway with two policies of one kind, and a recipient of its tables."""

    def __init__(self, vending: VendingGateway) -> None:
        self.vending = vending
        policies = vending.served.gateway.parts.instances.policies
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
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PolicyGateway]:
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
        yield PolicyGateway(vending)


@pytest.fixture
def policies(gateway: PolicyGateway) -> Iterator[PolicyGateway]:
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
    policies: PolicyGateway, method: str, path: str, headers: dict[str, str]
) -> None:
    policies.second.hidden = {"orders"}
    hidden = policies.ask(method, path, b"{}", **headers)
    missing = policies.ask(method, path.replace("orders", "nothing"), b"{}", **headers)
    assert hidden.status == missing.status == 404
    assert hidden.body.replace(b"orders", b"nothing") == missing.body


@pytest.mark.parametrize(
    "path", [f"{SHARE}/schemas/eu/tables", f"{SHARE}/all-tables", f"{NAMESPACE}/tables"]
)
def test_a_listing_checks_a_page_at_once_and_with_later_policies_what_is_left(
    policies: PolicyGateway, path: str
) -> None:
    shared = [name for name in NAMES if name != "vault" or not path.startswith(NAMESPACE)]
    assert policies.listed(path) == shared
    policies.reset()
    policies.first.hidden = {"visits"}
    left = [name for name in shared if name != "visits"]
    assert policies.listed(path) == left
    asked, offered = NAMES, [("acme", "vend", ["clicks", "orders", "vault"])]
    if path.startswith(NAMESPACE):
        offered = []
    assert policies.first.asked == [("acme", "read", asked), *offered]
    seen = [name for name in asked if name != "visits"]
    assert policies.second.asked == [("acme", "read", seen), *offered]


def test_a_slow_policy_makes_an_asynchronous_query_pending(
    policies: PolicyGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided, allowed = threading.Event(), policies.first.allowed

    async def slow(*asked: Any) -> Any:
        await anyio.to_thread.run_sync(decided.wait)
        return await allowed(*asked)

    monkeypatch.setattr(policies.first, "allowed", slow)
    path, body = f"{SHARE}/schemas/eu/tables/clicks", b'{"idempotencyKey": "k"}'
    capability = {CAPABILITIES: "asyncquery=true"}
    [pending] = policies.ask("POST", f"{path}/query", body, **capability).lines
    id = pending["queryStatus"]["queryId"]
    decided.set()
    spelled = path.replace("clicks", "CLICKS")
    assert len(policies.ask("POST", f"{spelled}/queries/{id}", b"{}").lines) == 3
    policies.first.hidden = {"clicks"}
    assert policies.ask("POST", f"{path}/queries/{id}", b"{}").status == 404


def test_what_a_policy_adds_does_not_count(policies: PolicyGateway) -> None:
    path = f"{SHARE}/all-tables"
    assert policies.listed(path) == NAMES
    policies.first.hidden, policies.second.added = {"visits"}, True
    assert policies.listed(path) == [name for name in NAMES if name != "visits"]


def test_where_nothing_is_left_no_policy_decides(policies: PolicyGateway) -> None:
    policies.first.hidden = set(NAMES)
    assert policies.listed(f"{SHARE}/all-tables") == []
    assert policies.second.asked == []


@pytest.mark.parametrize(("method", "path", "headers"), VENDS)
def test_credentials_may_be_held_back_from_who_may_read(
    policies: PolicyGateway, method: str, path: str, headers: dict[str, str]
) -> None:
    policies.first.kept = {"orders"}
    answer = policies.ask(method, path, b"{}", **headers)
    assert answer.status == 403
    assert b"the provider's policies allow no temporary credentials for sales.eu.orders" in answer.body
    actions = [action for _, action, _ in policies.first.asked]
    # The Iceberg catalog then looks whether the table can be read without them.
    again = ["read"] if path.endswith("/credentials") and path.startswith("/iceberg") else []
    assert actions == ["read", "vend", *again]
    assert policies.ask("GET", TABLE).status == policies.ask("GET", ICEBERG).status == 200


@pytest.mark.parametrize("path", [f"{SHARE}/schemas/eu/tables", f"{SHARE}/all-tables"])
def test_a_listing_shows_no_directory_that_a_policy_keeps_back(
    policies: PolicyGateway, path: str
) -> None:
    def told() -> dict[str, list[str] | None]:
        items = policies.ask("GET", path).json["items"]
        assert all(("accessModes" in item) is ("location" in item) for item in items)
        return {item["name"]: item["accessModes"] for item in items if "accessModes" in item}

    offered = {"clicks": ["url", "dir"], "vault": ["dir"]}
    assert told() == offered
    policies.first.kept = {"clicks"}
    assert told() == {"vault": ["dir"]}
    policies.second.kept = {"vault"}
    assert told() == {}
    policies.reset()
    assert told() == offered


def test_no_answer_about_a_table_shows_a_directory_that_a_policy_keeps_back(
    policies: PolicyGateway,
) -> None:
    path = TABLE.replace("orders", "clicks")
    for kept, is_offered, agreed in ((set[str](), True, "url,dir"), ({"clicks"}, False, "url")):
        policies.first.kept = kept
        assert ("accessModes" in policies.ask("GET", path).json) is is_offered
        answer = policies.ask("GET", f"{path}/metadata", b"", **{CAPABILITIES: "accessmode=url,dir"})
        assert f"accessmode={agreed};" in f"{answer.headers[CAPABILITIES]};"
        assert (b'"accessModes"' in answer.body) is (b'"location"' in answer.body) is is_offered


def test_a_table_whose_credentials_are_kept_back_has_one_format_less(policies: PolicyGateway) -> None:
    assert policies.ask("GET", TABLE).json["format"] == "delta,iceberg"
    policies.first.kept = {"orders"}
    assert policies.ask("GET", TABLE).json["format"] == "delta"


def test_a_table_that_is_left_no_way_of_access_says_so(policies: PolicyGateway) -> None:
    policies.first.kept = {"vault"}
    path = TABLE.replace("orders", "vault")
    assert "accessModes" not in policies.ask("GET", path).json
    answer = policies.ask("POST", f"{path}/query", b"{}")
    assert answer.status == 400
    assert b"it offers no temporary credentials" in answer.body


def test_no_policy_decides_on_directories_that_are_not_shared(policies: PolicyGateway) -> None:
    assert policies.ask("GET", TABLE.replace("orders", "plain")).status == 200
    assert policies.first.asked == [("acme", "read", ["plain"])]


@pytest.mark.parametrize(("method", "path", "headers"), [*READS, *VENDS])
@pytest.mark.parametrize("failure", ["fault", "unavailable"])
def test_a_policy_that_fails_lets_nothing_through(
    policies: PolicyGateway, method: str, path: str, headers: dict[str, str], failure: str
) -> None:
    error = RuntimeError("private words") if failure == "fault" else Unavailable("private words")
    policies.first.failure = error
    answer = policies.ask(method, path, b"{}", **headers)
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
    policies = Policies({"own-1": Silent()}, timeout=0.05)
    table = SharedTable("1", "sales", "2", "eu", "orders", "lake", "orders")
    with pytest.raises(Unavailable) as raised:
        await policies.readable(Principal("1", "acme", "token"), [table])
    assert raised.value.detail == "own-1: no response within 0.05 seconds"


def test_capabilities_of_plugins_are_announced_with_the_gateways_own(policies: PolicyGateway) -> None:
    answer = policies.ask("GET", f"{SHARE}/schemas/eu/tables/clicks/metadata")
    assert answer.headers["delta-sharing-capabilities"] == "responseformat=parquet;own-audit=full"
    assert "delta-sharing-capabilities" not in policies.ask("GET", f"{SHARE}/all-tables").headers


def test_policies_are_closed_with_the_gateway(tmp_path: Path) -> None:
    sections = {"policies": [{"type": "own"}]}
    with vending_gateway(tmp_path, {}, plugins={"own": POLICY}, sections=sections) as vending:
        (policy,) = vending.served.gateway.parts.instances.policies.values()
        assert not getattr(policy, "closed")  # noqa: B009 (the plugin has no type here)
    assert getattr(policy, "closed")  # noqa: B009
