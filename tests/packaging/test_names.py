"""Names in the core: no class name occurs twice."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import sluicegate

CORE = Path(sluicegate.__file__).parent
# Schemas of payloads have the names that the proposal for delegated tasks gives them.
OF_THE_DOCUMENT = {"TableIdentity", "TableMetadata"}


def classes() -> dict[str, list[str]]:
    """The modules of each public class of the core."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(CORE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path.relative_to(CORE).as_posix())
    return found


def test_no_public_class_name_occurs_twice() -> None:
    found = classes()
    assert len(found) > 400
    twice = {name: modules for name, modules in found.items() if len(modules) > 1}
    assert twice.keys() == OF_THE_DOCUMENT, twice
