"""Keys that became constants are accepted without effect, and warn with their place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest

from sluicegate.config.model import SettingsModel
from sluicegate.config.removed_keys import without_removed_keys
from sluicegate.config.yaml import parse_document


class _Old(SettingsModel):
    removed_keys: ClassVar[Mapping[str, str]] = {"size": "9"}

    name: str = ""


class _Older(_Old):
    removed_keys: ClassVar[Mapping[str, str]] = {"depth": "2"}


class _Around(SettingsModel):
    one: _Older | None = None
    listed: tuple[Annotated[_Old | str, "text"], ...] = ()
    named: Mapping[str, _Old] = {}


@pytest.mark.parametrize(
    ("text", "kept", "found"),
    [
        ("one: {size: 1, name: a, depth: 3}", {"one": {"name": "a"}}, ["one.size", "one.depth"]),
        ("listed: [a, {size: 1}]", {"listed": ["a", {}]}, ["listed.1.size"]),
        ("named: {size: {size: 1}}", {"named": {"size": {}}}, ["named.size.size"]),
        ("{size: 1, one: 3, named: []}", {"size": 1, "one": 3, "named": []}, []),
        ("[size]", ["size"], []),
    ],
)
def test_where_removed_keys_are_found(text: str, kept: Any, found: list[str]) -> None:
    document, warnings = without_removed_keys(_Around, parse_document(text, Path("f")))
    assert document.data == kept
    assert [each.split("'")[1] for each in warnings] == found
