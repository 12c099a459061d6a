"""Explanations of the access to tables in memory: the deciding element of each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_network
from types import SimpleNamespace
from typing import Any

import pytest
from support.gateways.memory_gateway import catalog_table, memory_gateway, shared_table
from support.gateways.memory_grants import ACME, record
from support.gateways.memory_sharing import sharing_parts
from support.gateways.parts import gateway_parts
from support.tables.filesets import schema_field, table_metadata
from support.tables.memory_tables import MemoryFormat, file, snapshot

from sluicegate._util.lazy import Lazy
from sluicegate.access.explain.lookups import HeldCredential, KnownRecipient, Lookups, UnknownName
from sluicegate.access.explain.sender import explain_sender
from sluicegate.access.explain.steps import Step, refusal
from sluicegate.api import (
    Policy,
    PolicyAction,
    Principal,
    Schema,
    Share,
    SharedCatalogSource,
    SharedSchemaSource,
    SharedTable,
    Unavailable,
)
from sluicegate.config.sections.authentication import AuthenticationSettings
from sluicegate.database.reads import CredentialRecord, RecipientRecord
from sluicegate.protocols.explain.access_steps import AccessSteps, limit_steps
from sluicegate.protocols.explain.assembly import explanations
from sluicegate.protocols.explain.attempts import ReadAttempts
from sluicegate.protocols.explain.explainer import Explainer
from sluicegate.protocols.explain.finder import Finder, list_items, list_schemas
from sluicegate.protocols.explain.models import WAYS_OF, AssetPath, Explanation
from sluicegate.protocols.explain.who_can import WhoCan
from sluicegate.protocols.iceberg_rest.errors import NoSuchTable
from sluicegate_testing.fakes import MemoryCatalog

NOW = 2_000
SHARE = Share("s1", "sales", display_name="Sales")
ORDERS = AssetPath("sales", "eu", "orders")


def holder(recipient: RecipientRecord, *, ends: int = 9_000, shares: Sequence[str] = ("s1",)) -> Any:
    token = CredentialRecord("k1", b"", recipient, ends, None)
    return KnownRecipient(recipient, (HeldCredential("bearer", token),), frozenset(shares))


class MemoryLookups(Lookups):
    """Knows one share, and some recipients."""

    def __init__(self, *known: KnownRecipient) -> None:
        self.known = known

    async def recipient(self, name: str) -> KnownRecipient:
        for each in self.known:
            if each.record.name == name:
                return each
        raise UnknownName(f"there is no recipient '{name}'")

    async def share(self, name: str) -> Share:
        if name != SHARE.name:
            raise UnknownName(f"there is no share '{name}'")
        return SHARE

    async def granted(self, share: Share) -> list[KnownRecipient]:
        return [each for each in self.known if share.id in each.shares]


class Denying(Policy):
    """Denies actions on a table, or fails."""

    def __init__(self, *denied: PolicyAction, failure: Exception | None = None) -> None:
        self.denied, self.failure = denied, failure

    async def allowed(
        self, principal: Principal, action: PolicyAction, tables: frozenset[SharedTable]
    ) -> frozenset[SharedTable]:
        if self.failure is not None:
            raise self.failure
        return frozenset() if action in self.denied else tables


@dataclass
class World:
    """The services over a gateway in memory."""

    tables: Sequence[SharedTable] = (shared_table(),)
    policy: Policy | None = None
    known: Sequence[KnownRecipient] = (holder(record(ACME)),)
    format: MemoryFormat = field(default_factory=lambda: MemoryFormat(versions=[snapshot(file("a"))]))
    files: Exception | None = None

    def __post_init__(self) -> None:
        self.gateway = memory_gateway(*self.tables, format=self.format, policy=self.policy)

        async def check(*_: Any) -> None:
            if self.files is not None:
                raise self.files

        files: Any = SimpleNamespace(check=check)
        self.explainer, self.who_can = explanations(
            gateway_parts(self.gateway),
            MemoryLookups(*self.known),
            sharing_parts(self.gateway)["steps"],
            Lazy(lambda: files),
        )
        for each in (self.explainer, self.who_can):
            each._steps = replace(each._steps, now=lambda: NOW)

    async def explain(self, path: AssetPath = ORDERS, **options: Any) -> Explanation:
        return await self.explainer.explain("acme", path, **options)


def step(found: Explanation, name: str) -> Step:
    [only] = [each for each in found.steps if each.name == name]
    return only


def way(found: Explanation, name: str) -> tuple[int, str]:
    [only] = [each for each in found.ways if each.name == name]
    return only.status, only.reason


async def test_a_table_shared_by_url_is_open_by_urls_and_file_by_file() -> None:
    world = World()
    assert isinstance(world.explainer, Explainer)
    assert isinstance(world.who_can, WhoCan)
    found = await world.explain()
    assert found.allowed
    assert [each.name for each in found.ways if each.is_open] == ["url", "iceberg"]
    assert way(found, "url") == (200, "version 0, in format parquet or delta")
    assert way(found, "dir")[0] == 400
    assert (found.listed, found.listed_in_iceberg) == (True, True)
    assert refusal(found.steps) is None


async def test_nothing_is_issued_or_recorded() -> None:
    world = World(tables=[shared_table(access_modes=("url", "dir"))])
    await world.explain()
    ledger, storage = world.gateway.ledger, world.gateway.storage
    assert (ledger.written, ledger.noted, storage.signed, storage.vendor.scopes) == ([], [], [], [])


@pytest.mark.parametrize("action", ["url", "dir", "vend", "iceberg"])
async def test_an_action_needs_one_of_its_ways(action: Any) -> None:
    found = await World().explain(action=action)
    assert found.allowed == (action in ("url", "iceberg"))
    assert set(WAYS_OF[found.action]) <= set(WAYS_OF["read"])


@pytest.mark.parametrize(("denied", "name"), [("read", "policy read"), ("vend", "policy vend")])
async def test_the_policy_that_denies_is_named(denied: PolicyAction, name: str) -> None:
    tables = [shared_table(access_modes=("url", "dir"))]
    found = await World(tables, policy=Denying(denied)).explain()
    assert (step(found, name).outcome, step(found, name).reason) == (
        "refused",
        "the policy 'policy' denies it",
    )
    assert found.allowed == found.listed == (denied == "vend")
    assert way(found, "dir")[0] == (404 if denied == "read" else 403)


async def test_a_policy_that_fails_makes_the_decision_unavailable() -> None:
    found = await World(policy=Denying(failure=Unavailable("no response"))).explain()
    assert step(found, "policy read").outcome == "unavailable"
    assert "policy: no response" in step(found, "policy read").reason
    assert (found.allowed, found.listed, way(found, "url")[0]) == (False, False, 503)


async def test_a_missing_property_refuses_a_filtered_table() -> None:
    filtered = shared_table(partition_filter="day = '1' AND country = recipient.country")
    metadata = table_metadata(
        [schema_field("day", "string"), schema_field("country", "string")], ["day", "country"]
    )
    found = await World(
        [filtered], format=MemoryFormat([snapshot(file("a"), metadata=metadata)])
    ).explain()
    assert step(found, "partition_filter").reason.endswith("the recipient has no property 'country'")
    assert (found.listed, way(found, "url")[0]) == (True, 403)


def test_a_filter_is_shown_with_the_values_of_the_recipient() -> None:
    filtered = shared_table(
        partition_filter="country = recipient.country", start_version=3, history=True
    )
    principal = replace(ACME, properties={"country": "d'or"})
    steps = {each.name: each.reason for each in limit_steps(principal, filtered)}
    assert steps == {
        "partition_filter": "country = 'd''or'",
        "start_version": "versions from 3",
        "history": "all shared versions, without its change data feed",
        "access_modes": "url",
    }


def test_a_limit_that_rules_out_directories_is_explained() -> None:
    branch = shared_table(ref="audit", access_modes=("url", "dir"))
    steps = {each.name: each.reason for each in limit_steps(ACME, branch)}
    assert steps["ref"] == "only the branch or tag 'audit'"
    assert steps["access_modes"].startswith("url, dir; a ref cannot be enforced")


async def test_a_table_that_iceberg_cannot_express_is_not_listed_there() -> None:
    found = await World(files=NoSuchTable("it has a column of type variant")).explain()
    assert (found.listed, found.listed_in_iceberg) == (True, False)
    assert way(found, "iceberg") == (404, "it has a column of type variant")


async def test_every_way_gets_the_error_of_the_sender() -> None:
    expired = holder(record(ACME), ends=1_000)
    found = await World(known=[expired]).explain()
    assert not found.allowed
    assert {each.status for each in found.ways} == {401}
    assert step(found, "credentials").reason.startswith("the newest bearer token expired 1970-01-01")
    assert step(found, "policy read").outcome == "allowed", "later steps are decided, too"


async def test_a_share_that_is_not_granted_is_refused() -> None:
    stranger = holder(record(replace(ACME, id="r9")), shares=())
    found = await World(known=[stranger]).explain()
    assert step(found, "grant").reason == "the share 'sales' is not granted to 'acme'"
    assert {each.status for each in found.ways} == {404}
    assert (found.allowed, found.listed) == (False, False)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (AssetPath("sale", "eu", "orders"), "there is no share 'sale'"),
        (AssetPath("sales", "eu2", "orders"), "no schema 'eu2' in the share 'sales'; did"),
        (AssetPath("sales", "eu", "order"), "'order' in sales.eu; did you mean 'orders'"),
    ],
)
async def test_unknown_names_are_reported_with_the_nearest(path: AssetPath, message: str) -> None:
    with pytest.raises(UnknownName, match=message):
        await World().explain(path)


async def test_offline_queries_no_catalog() -> None:
    world = World()
    world.gateway.catalog.clear()
    found = await world.explain(offline=True)
    assert (found.allowed, found.ways, found.listed) == (True, (), None)
    assert not (await world.explain(offline=True, action="dir")).allowed


SOURCE = SharedSchemaSource("main", "eu", include=("o*", "tmp_*"), exclude=("tmp_*",), alias="_")


async def test_the_deciding_pattern_of_a_source_is_named() -> None:
    tables = {name: catalog_table(name) for name in ("orders", "o x", "tmp_1", "other.", "sales")}
    listing = await list_items(MemoryCatalog({"eu": tables}), SOURCE, "table")
    assert listing.shared["o_x"] == "o x"
    assert listing.pattern_for("o_x") == "o*"
    assert listing.reason_against("TMP_1") == "exclude 'tmp_*' leaves out 'tmp_1'"
    assert listing.reason_against("sales") == "no pattern of include matches 'sales': o*, tmp_*"
    assert listing.reason_against("absent") is None


async def test_a_schema_that_cannot_be_named_has_a_reason() -> None:
    listing = await list_schemas(MemoryCatalog({"e.u": {}}), SharedCatalogSource("main"))
    assert "set alias: '_'" in str(listing.reason_against("e.u"))


async def test_a_table_of_a_source_is_found_with_its_pattern() -> None:
    world = World()
    world.gateway.grants._declared = [Schema("x", SHARE, "eu", source=SOURCE)]
    found = await world.explain()
    assert step(found, "table").reason == "from: 'eu.orders' of catalog 'main', by include 'o*'"
    world.gateway.catalog["tmp_1"] = catalog_table("tmp_1")
    left_out = await world.explain(AssetPath("sales", "eu", "tmp_1"))
    assert step(left_out, "table").reason == "exclude 'tmp_*' leaves out 'tmp_1'"
    assert (left_out.allowed, way(left_out, "url")[0]) == (False, 404)
    assert isinstance(world.explainer._steps.finder, Finder)
    assert isinstance(world.explainer._steps.attempts, ReadAttempts)


def test_the_network_is_undecided_without_an_address() -> None:
    known = holder(record(ACME, allow_from=(ip_network("10.0.0.0/8"),)))

    def network(address: str | None) -> Any:
        sender = explain_sender(known, AuthenticationSettings(), address, NOW)
        return next(each.outcome for each in sender.steps if each.name == "network")

    assert [network(each) for each in (None, "10.1.1.1", "::ffff:10.1.1.1", "11.0.0.1")] == [
        "unknown",
        "allowed",
        "allowed",
        "refused",
    ]


@pytest.mark.parametrize(
    ("mapping", "reason"),
    [
        (None, "tokens of https://id.example with sub = 'acme'"),
        ({"u-1": "ACME", "u-2": "rival"}, "tokens of https://id.example with sub = 'u-1'"),
        ({"u-2": "rival"}, "no credential was issued; rotate the recipient"),
    ],
)
def test_tokens_of_an_issuer_are_credentials(mapping: Any, reason: str) -> None:
    oidc = [{"issuer": "https://id.example", "audience": "gw", "recipients": mapping}]
    settings = AuthenticationSettings.model_validate({"oidc": oidc})
    known = KnownRecipient(record(ACME), (), frozenset())
    sender = explain_sender(known, settings, None, NOW)
    [credentials] = [each for each in sender.steps if each.name == "credentials"]
    assert credentials.reason == reason
    assert (sender.error is None) == (credentials.outcome == "allowed")


async def test_many_recipients_need_few_lookups_of_the_table() -> None:
    tables = [shared_table(access_modes=("url", "dir"))]
    names = [replace(ACME, name=f"r{number}") for number in range(200)]
    world = World(tables, known=[holder(record(each)) for each in names])
    found = await world.who_can.readers(ORDERS)
    assert [each.allowed for each in found.readers] == [True] * 200
    assert len(world.format.read) < 20


async def test_policies_that_fail_are_not_called_for_everyone() -> None:
    calls = 0

    class Failing(Policy):
        async def allowed(self, *_: Any) -> Any:
            nonlocal calls
            calls += 1
            raise Unavailable("no response")

    known = [holder(record(replace(ACME, name=f"r{number}"))) for number in range(100)]
    found = await World(policy=Failing(), known=known).who_can.readers(ORDERS)
    assert not any(each.allowed for each in found.readers)
    assert calls <= 32
    assert found.readers[-1].reason.startswith("policy read: ")


def access_steps(*denied: PolicyAction, now: int = NOW) -> AccessSteps:
    world = World(policy=Denying(*denied))
    return replace(world.explainer._steps, now=lambda: now)


def test_the_sender_is_decided_at_the_time_of_the_explanation() -> None:
    known = holder(record(ACME), ends=9_000)
    assert access_steps(now=8_999).sender(known, None).error is None
    expired = access_steps(now=9_001).sender(known, None)
    assert expired.error is not None
    assert [each.outcome for each in expired.steps if each.name == "credentials"] == ["refused"]


def test_the_sender_is_decided_with_its_address() -> None:
    known = holder(replace(record(ACME), allow_from=(ip_network("10.0.0.0/8"),)))
    steps = access_steps()
    assert steps.sender(known, "10.1.2.3").error is None
    assert steps.sender(known, "192.0.2.1").error is not None


@pytest.mark.parametrize("action", ["read", "vend"])
async def test_a_policy_decides_about_each_action(action: PolicyAction) -> None:
    principal = Principal("r1", "acme", "bearer")
    denied = await access_steps(action).policy(principal, action, shared_table())
    allowed = await access_steps().policy(principal, action, shared_table())
    assert (denied.name, denied.outcome) == (f"policy {action}", "refused")
    assert (allowed.name, allowed.outcome) == (f"policy {action}", "allowed")
