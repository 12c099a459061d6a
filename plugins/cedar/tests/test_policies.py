"""Invalid policies, failing evaluations, and what policies see."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sluicegate.api import ConfigurationError, Principal, SharedTable, Unavailable
from sluicegate_cedar.policy import CedarPolicy
from sluicegate_cedar.policy_set import SCHEMA

from .conftest import Written

ALL = "permit (principal, action, resource);\n"
ACME = Principal("1", "acme", "bearer", "192.0.2.1", {"region": "eu"})
ORDERS = SharedTable("1", "sales", "s", "eu", "orders", "lake", "eu.orders")
TAGGED = replace(
    replace(ORDERS, id="2", name="tagged", ref="v1"), access_modes=("url", "dir"), tags={"class": "a b"}
)


async def permits(policy: CedarPolicy, table: SharedTable, who: Principal = ACME) -> bool:
    return table in await policy.allowed(who, "read", frozenset({table}))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f'{ALL}// a ; comment\n\n@id("b;")\npermit (principal);\n', "1.cedar:4: "),
        (
            f"{ALL}permit (principal, action, resource)\nwhen {{ x.y == }};",
            "1.cedar:2: unexpected token",
        ),
        (f"{ALL}\n\npermit (principal, action, resource)", "1.cedar:4: unexpected end of input"),
        (f'{ALL}permit (principal, action, resource) when {{ "x', "1.cedar:2: "),
        (f'{ALL}{ALL}forbid (principal, action == Action::"read", resource);', "1.cedar:3: "),
        (f"{ALL}forbid (principal, action, resource) when {{ resource.nam == 1 }};", "1.cedar:2: "),
        (f"{ALL}permit (principal == ?principal, action, resource);", "1.cedar:2: is a template"),
        ("forbid (principal == x, action, resource);" * 9, "1.cedar:1: "),
    ],
)
def test_an_invalid_policy_prevents_the_start(written: Written, text: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        written(text).preload()
    assert problem in raised.value.message
    assert "policy0" not in raised.value.message


def test_a_problem_is_in_its_file(written: Written) -> None:
    wrong = "\nforbid (principal, action, resource) when { resource.nam == 1 };"
    with pytest.raises(ConfigurationError, match=r"2\.cedar:2: .*nam"):
        written(ALL, wrong, ALL).preload()


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("own.cedarschema", "entity Recipient", "own.cedarschema: error parsing schema"),
        ("own.json", "{", "own.json: "),
        ("own.json", "{}", "1.cedar:1: "),
        ("own.cedarschema", SCHEMA.read_text().replace("catalog: String,", ""), "not describe"),
        ("own.cedarschema", None, "own.cedarschema: cannot be read: No such file"),
        ("own.cedarschema", "x" * (4 << 20) + "x", "own.cedarschema: has more than 4194304 bytes"),
    ],
)
def test_an_unusable_schema_prevents_the_start(
    written: Written, tmp_path: Path, name: str, text: str | None, problem: str
) -> None:
    schema_file = tmp_path / name
    if text is not None:
        schema_file.write_text(text)
    only_read = 'permit (principal, action == Sluicegate::Action::"read", resource);'
    with pytest.raises(ConfigurationError) as raised:
        written(only_read, schema_file=schema_file).preload()
    assert problem in raised.value.message


async def test_policies_conform_to_the_configured_schema(written: Written, tmp_path: Path) -> None:
    schema_file = tmp_path / "own.cedarschema"
    schema_file.write_text(SCHEMA.read_text().replace("Sluicegate {", "Sluicegate {\n  entity Team;"))
    text = 'permit (principal, action, resource) unless { Sluicegate::Team::"x" == principal };'
    with pytest.raises(ConfigurationError, match="Team"):
        written(text).preload()
    assert await permits(written(text, schema_file=schema_file), ORDERS)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ('principal == Sluicegate::Recipient::"acme" && principal.name == "acme"', True),
        ('principal.hasTag("region") && principal.getTag("region") == "eu"', True),
        ('resource == Sluicegate::Table::"sales.eu.tagged"', True),
        ('resource in Sluicegate::Schema::"sales.eu" && resource in Sluicegate::Share::"sales"', True),
        ('resource in Sluicegate::Share::"other"', False),
        ('resource.share == "sales" && resource.schema == "eu" && resource.name == "tagged"', True),
        ('resource.catalog == "lake" && resource.identifier == "eu.orders"', True),
        ('resource has ref && resource.ref == "v1"', True),
        ('resource.accessModes.contains("dir") && !resource.history', True),
        ('resource.hasTag("class") && resource.getTag("class") == "a b"', True),
        ("resource is Sluicegate::Table", True),
        ("resource is Sluicegate::Volume", False),
        ('context.method == "bearer" && context has address', True),
        ('context has address && context.address.isInRange(ip("192.0.2.0/24"))', True),
        ('context.now > datetime("2024-01-01") && context.now < datetime("2200-01-01")', True),
    ],
)
async def test_conditions_see_the_request(written: Written, condition: str, expected: bool) -> None:
    policy = written(f"permit (principal, action, resource) when {{ {condition} }};")
    assert await permits(policy, TAGGED) is expected


async def test_several_files_are_one_set_of_policies(written: Written) -> None:
    policy = written(ALL, 'forbid (principal, action, resource in Sluicegate::Schema::"sales.eu");')
    assert not await permits(policy, ORDERS)
    assert await permits(policy, replace(ORDERS, schema="us"))


async def test_what_can_not_be_evaluated_is_denied_and_reported_once_a_minute(
    written: Written, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # Cedar itself ignores a policy that fails, even if it forbids.
    policy = written(ALL, "\nforbid (principal, action, resource) when { 1 * context.method == 1 };")
    with pytest.raises(ConfigurationError):  # found by its type
        policy.preload()
    overflow = "9223372036854775807 + (if resource.history then 1 else 0) < 0"
    policy = written(ALL, f"\nforbid (principal, action, resource) when {{ {overflow} }};")
    many = [replace(ORDERS, id=f"{n}", name=f"t{n}", history=n % 2 == 1) for n in range(10)]
    for _ in range(2):
        found = await policy.allowed(ACME, "read", frozenset(many))
        assert found == {table for table in many if not table.history}
    warnings = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert f"{tmp_path}/2.cedar:2" in warnings[0]


async def test_invalid_policies_make_the_gateway_unavailable(written: Written) -> None:
    policy = written("permit (")
    with pytest.raises(Unavailable) as raised:
        await permits(policy, ORDERS)
    assert raised.value.message == "the policy 'cedar-1' cannot decide now; try again later"
    assert raised.value.detail is not None
    assert "1.cedar:1: unexpected end of input" in raised.value.detail


@pytest.fixture
def reloading(written: Written, monkeypatch: pytest.MonkeyPatch) -> Callable[[], CedarPolicy]:
    """A policy whose files are checked at every call."""
    monkeypatch.setattr("sluicegate_cedar.policy._CHECK_SECONDS", 0.0)
    return lambda: written(ALL)


async def test_changed_files_are_loaded_when_they_no_longer_change(
    reloading: Callable[[], CedarPolicy], tmp_path: Path
) -> None:
    policy = reloading()
    assert await permits(policy, ORDERS)
    tmp_path.joinpath("1.cedar").write_text("// nothing\n")
    assert await permits(policy, ORDERS)
    tmp_path.joinpath("1.cedar").write_text("// nothing yet\n")
    assert await permits(policy, ORDERS)
    assert not await permits(policy, ORDERS)


@pytest.mark.parametrize("text", ["permit (", None])
async def test_invalid_changes_leave_the_policies_in_force(
    reloading: Callable[[], CedarPolicy],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    text: str | None,
) -> None:
    policy, file = reloading(), tmp_path / "1.cedar"
    assert await permits(policy, ORDERS)
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    for _ in range(4):
        assert await permits(policy, ORDERS)
    errors = [record.message for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1
    assert str(file) in errors[0]
    file.write_text("forbid (principal, action, resource);")
    for _ in range(2):
        await permits(policy, ORDERS)
    assert not await permits(policy, ORDERS)
