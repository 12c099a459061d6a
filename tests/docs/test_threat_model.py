"""The threat model names tests that exist, at least one for each threat."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest
from support.process.docs import ROOT

PAGE = (ROOT / "docs" / "operators" / "security.md").read_text(encoding="utf-8")
HEADER = "| threat | what stops it | tests | what is left |"
NAMED = re.compile(r"`([\w./-]+\.py)::(\w+)`")
SECTIONS = (
    *("Recipients", "Tables' writers", "HTTP and load", "Delegation: payloads and executors"),
    *("Catalogs and stores", "The operator's machine"),
)


def threats() -> list[list[str]]:
    """The cells of each row of the page's tables of threats."""
    rows, inside = [], False
    for line in PAGE.splitlines():
        if not line.startswith("|"):
            inside = False
        elif line == HEADER:
            inside = True
        elif inside and not line.startswith("|---"):
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))])
    return rows


@cache
def functions_of(path: str) -> frozenset[str]:
    """The names of all functions in a file of the repository."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, kinds))


@pytest.mark.parametrize(("path", "name"), sorted(set(NAMED.findall(PAGE))))
def test_a_named_test_exists(path: str, name: str) -> None:
    assert name.startswith("test_")
    assert name in functions_of(path)


@pytest.mark.parametrize("row", threats(), ids=lambda row: row[0])
def test_each_threat_has_a_defence_and_a_test(row: list[str]) -> None:
    threat, defence, tests, _ = row
    assert threat
    assert defence
    named = [NAMED.fullmatch(part.strip()) for part in tests.split("<br>")]
    assert all(named), tests


@pytest.mark.parametrize("section", SECTIONS)
def test_each_section_has_threats(section: str) -> None:
    text = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    assert HEADER in text


def test_the_check_finds_rows() -> None:
    assert len(threats()) > 30
