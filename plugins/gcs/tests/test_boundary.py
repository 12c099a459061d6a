from __future__ import annotations

import pytest

from sluicegate.api import UnsupportedOperation
from sluicegate_gcs.vending import boundary_of

BUCKET = "//storage.googleapis.com/projects/_/buckets/lake"
READING = ["inRole:roles/storage.objectViewer"]


def conditions(prefixes: list[str]) -> list[str | None]:
    rules = boundary_of("lake", prefixes)["accessBoundary"]["accessBoundaryRules"]
    assert all(rule["availableResource"] == BUCKET for rule in rules)
    assert all(rule["availablePermissions"] == READING for rule in rules)
    return [rule.get("availabilityCondition", {}).get("expression") for rule in rules]


def condition(literal: str) -> str:
    return (
        f"resource.name.startsWith('projects/_/buckets/lake/objects/{literal}') || "
        f"api.getAttribute('storage.googleapis.com/objectListPrefix', '').startsWith('{literal}')"
    )


@pytest.mark.parametrize(
    ("prefixes", "expected"),
    [
        (["sales/orders/"], [condition("sales/orders/")]),
        (["it's/"], [condition(r"it\'s/")]),
        (["back\\slash/"], [condition(r"back\\slash/")]),
        (["x') || true || ('/"], [condition(r"x\') || true || (\'/")]),
        (["x\\') || true || ('/"], [condition(r"x\\\') || true || (\'/")]),
        (['"ünï"/日本/'], [condition('"ünï"/日本/')]),
        (["b/", "a/"], [condition("a/"), condition("b/")]),
        (["a/b/", "a/", "a/", "a-b/"], [condition("a-b/"), condition("a/")]),
        ([""], [None]),
        (["", "a/"], [None]),
    ],
)
def test_a_boundary_holds_reading_and_listing_below_the_prefixes(
    prefixes: list[str], expected: list[str | None]
) -> None:
    assert conditions(prefixes) == expected


@pytest.mark.parametrize("name", ["a\nb/", "\x00/", "a\x7f/", "\ud800/"])
def test_a_name_that_no_condition_can_say_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedOperation):
        boundary_of("lake", [name])


def test_as_many_directories_as_a_boundary_can_hold() -> None:
    assert len(conditions([f"{number}/" for number in range(10)])) == 10

    with pytest.raises(UnsupportedOperation, match="11 directories"):
        boundary_of("lake", [f"{number}/" for number in range(11)])
