from __future__ import annotations

from typing import Any

import pytest

from sluicegate.api import Storage, StorageConfig, StorageType
from sluicegate.plugins.locations import canonical_location, spellings_of


def never_built(config: Any, context: Any) -> Storage:
    raise AssertionError


def by_host(location: str) -> str:
    return f"pond://{location.partition('://')[2].replace('.old.', '.new.')}"


SPELLINGS = spellings_of(
    [
        StorageType("lake", ("lake", "lakea"), StorageConfig, never_built),
        StorageType("pond", ("pond", "puddle"), StorageConfig, never_built, canonical=by_host),
    ]
)


@pytest.mark.parametrize(
    ("location", "canonical"),
    [
        ("lake://b/t", "lake://b/t"),
        ("lakea://b/t", "lake://b/t"),
        ("pond://b.new.example/t", "pond://b.new.example/t"),
        ("puddle://b.old.example/t", "pond://b.new.example/t"),
        ("other://b/t", "other://b/t"),
        ("lake", "lake"),
        ("/srv/t", "/srv/t"),
    ],
)
def test_a_location_has_one_spelling(location: str, canonical: str) -> None:
    assert canonical_location(location, SPELLINGS) == canonical
