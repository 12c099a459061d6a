"""The page that follows requests through the modules names places that exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

import pytest
from support.process.docs import ROOT

CORE = ROOT / "gateway" / "sluicegate"
PAGE = (ROOT / "docs" / "code-map.md").read_text(encoding="utf-8")
PICTURE = (ROOT / "docs" / "request-flow.svg").read_text(encoding="utf-8")


def rows(text: str) -> list[tuple[str, str, str]]:
    """What a row of a table is about, its module, and its name in the module."""
    return re.findall(r"^\| (.+\.) \| `(.+\.py)` \| `([\w.]+)` \|$", text, re.MULTILINE)


def section(title: str) -> list[tuple[str, str, str]]:
    """The rows below a heading."""
    return rows(PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0])


def names(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Classes, functions and constants; members as `Class.member`."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield node.name
            yield from (f"{node.name}.{member}" for member in names(node.body))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def test_the_page_has_a_query_a_task_and_twenty_first_changes() -> None:
    assert len(section("A query")) >= 10
    assert len(section("A task")) >= 10
    assert len({about for about, _, _ in section("Twenty places for a first change")}) == 20


def test_each_row_of_a_table_names_a_place() -> None:
    tables = re.findall(r"^\| (?!step |to change |---).+ \|$", PAGE, re.MULTILINE)
    assert len([line for line in tables if not line.startswith("|---")]) == len(rows(PAGE))


def test_a_query_takes_the_steps_of_the_picture() -> None:
    steps = re.findall(r"^\| \*\*(\w+)\*\*: ", PAGE, re.MULTILINE)
    assert steps == re.findall(r'class="step"[^>]*/><text[^>]*>([\w]+)<', PICTURE)


@pytest.mark.parametrize(("about", "module", "name"), rows(PAGE), ids=[row[2] for row in rows(PAGE)])
def test_a_behavior_is_where_the_page_says(about: str, module: str, name: str) -> None:
    path = CORE / module
    assert path.is_file(), f"{about} {module} does not exist"
    assert name in set(names(ast.parse(path.read_text(encoding="utf-8")).body)), about
