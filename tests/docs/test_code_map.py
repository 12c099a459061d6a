"""The page that tells where each behavior is implemented names places that exist."""

from __future__ import annotations

import ast
import re

import pytest
from support.process.docs import ROOT

CORE = ROOT / "gateway" / "sluicegate"
ROWS = re.findall(
    r"^\| (.+\.) \| `(.+\.py)` \| `(\w+)` \|$",
    (ROOT / "docs" / "code-map.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


def test_the_page_lists_at_least_twenty_behaviors() -> None:
    assert len(ROWS) >= 20
    assert len({behavior for behavior, _, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("behavior", "module", "name"), ROWS, ids=[row[2] for row in ROWS])
def test_a_behavior_is_where_the_page_says(behavior: str, module: str, name: str) -> None:
    path = CORE / module
    assert path.is_file(), f"{behavior} {module} does not exist"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    assert name in {node.name for node in tree.body if isinstance(node, kinds)}, behavior
