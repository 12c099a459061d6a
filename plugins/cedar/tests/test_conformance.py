"""The conformance tests of policies, with the example of the README."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from sluicegate.api import Policy, Principal, SharedAsset, SharedTable
from sluicegate_cedar.config import CedarConfig
from sluicegate_cedar.plugin import sluicegate_register_policies
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.policies import Decision, PolicyBehaviour

from .conftest import EXAMPLE, Written


def tables(region: str) -> frozenset[SharedTable]:
    tags = {"region": region}
    names = [f"{region}.t{number}" for number in range(3)]
    return frozenset(
        SharedTable(name, "sales", "s", region, name[3:], "lake", name, tags=tags) for name in names
    )


EU, US = tables("eu"), tables("us")
RESULTS = frozenset({SharedTable("r1", "sales", "s", "results", "q4", "lake", "q4", ref="tagged")})
FILES = frozenset(
    {
        SharedAsset("v1", "sales", "s", "eu", "t1", "lake", "eu.t1", tags={"region": "eu"}),
        SharedAsset("v2", "sales", "s", "eu", "t2", "lake", "eu.t2"),
    }
)
ACME = Principal("1", "acme", "bearer", "192.0.2.1", {"region": "eu"})
PARTNER = Principal("2", 'um"brella', "bearer", "fe80::1%eth0", {"tier": "partner"})
STRANGER = Principal("3", "nobody", "bearer", "a proxy")


class TestCedar(PolicyBehaviour):
    """The example of the README decides."""

    @pytest.fixture
    def policy(self, written: Written) -> Policy:
        before = EXAMPLE.replace("2027-01-15", "2200-01-15")
        return written("// Empty.\n", before)

    @pytest.fixture
    def failing(self, tmp_path: Path) -> Mapping[str, Policy]:
        (known,) = sluicegate_register_policies()
        sources = {"file is missing": None, "file is invalid": "permit (", "no text": "\udcff"}
        found = {}
        for how, text in sources.items():
            path = tmp_path / how
            if text is not None:
                path.write_text(text, encoding="utf-8", errors="surrogateescape")
            found[how] = known.factory(CedarConfig(policy_files=(path,)), FakeContext())
        return found

    @pytest.fixture
    def decisions(self) -> Sequence[Decision]:
        return [
            Decision(
                ACME, "read", EU | US | FILES | RESULTS, EU | {each for each in FILES if each.tags}
            ),
            Decision(ACME, "vend", EU | US, EU),
            Decision(PARTNER, "read", EU | US | RESULTS, EU | US),
            Decision(PARTNER, "vend", EU | US, frozenset()),
            Decision(STRANGER, "read", EU, frozenset()),
        ]
