"""The page about conformance checks lists each check of each suite, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from sluicegate_testing.assets import AssetBehaviour
from sluicegate_testing.authenticators import AuthenticatorBehaviour
from sluicegate_testing.catalog import CatalogBehaviour
from sluicegate_testing.executors import TaskExecutorBehaviour
from sluicegate_testing.formats import FormatBehaviour
from sluicegate_testing.policies import PolicyBehaviour
from sluicegate_testing.storage import StorageBehaviour
from sluicegate_testing.token_bindings import TokenBindingBehaviour

PAGE = Path(__file__).parents[2].joinpath("docs/plugins/conformance.md").read_text("utf-8")
SECTIONS = {
    "Catalogs": CatalogBehaviour,
    "Volumes, models and skills": AssetBehaviour,
    "Storage": StorageBehaviour,
    "Formats": FormatBehaviour,
    "Policies": PolicyBehaviour,
    "Authenticators": AuthenticatorBehaviour,
    "Token bindings": TokenBindingBehaviour,
    "Task executors": TaskExecutorBehaviour,
}


def checks_in(heading: str) -> set[str]:
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"`(test_\w+)`", section))


def test_each_check_is_listed_with_what_it_finds() -> None:
    shared = checks_in("Checks of every instance")
    for heading, suite in SECTIONS.items():
        checks = {name for name in dir(suite) if name.startswith("test_")}
        inherited = shared if shared <= checks else set()
        assert checks_in(heading) == checks - inherited, heading
