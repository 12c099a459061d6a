"""Tests that check few random cases for each change check all of them at night."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from configparser import ConfigParser
from functools import cache
from pathlib import Path

import pytest
from runs import night

ROOT = Path(__file__).resolve().parents[2]
# What a module that checks more cases at night imports or reads.
_SIGN = re.compile(r"random_cases import .*(cases|times)|SLUICEGATE_(FUZZ|EXPLAIN)_")


def listed() -> list[str]:
    """The modules and folders that `tox -e nightly` runs."""
    tox = ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    return [path for suites in tox["nightly"].values() for path in suites.split()]


def modules() -> list[Path]:
    """All modules of tests but this one."""
    return [path for path in sorted(ROOT.glob("tests/**/test_*.py")) if path != Path(__file__)]


@cache
def functions_of(module: Path) -> dict[str, ast.AST]:
    """The test functions of a module, by name."""
    return {
        node.name: node
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }


def replaced() -> Iterator[tuple[Path, str]]:
    """What the markers `night` name, with the module of each marker."""
    for module in modules():
        text = module.read_text()
        if "mark.night(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.night":
                assert node.args, f"{module}:{node.lineno} names no test that runs for each change"
                for argument in node.args:
                    yield module, ast.literal_eval(argument)


def test_each_module_with_random_cases_runs_at_night() -> None:
    found = [path.relative_to(ROOT).as_posix() for path in modules() if _SIGN.search(path.read_text())]
    assert len(found) > 15
    assert [each for each in found if not each.startswith(tuple(listed()))] == []


def test_each_listed_module_exists() -> None:
    assert [path for path in listed() if not (ROOT / path).exists()] == []


def test_what_runs_only_at_night_names_a_test_for_each_change() -> None:
    """A marker names tests of its module, or `path::test`, which have no such marker."""
    unknown = []
    for module, named in replaced():
        path, _, name = named.rpartition("::")
        function = functions_of(ROOT / path if path else module).get(name)
        marks = [ast.unparse(each) for each in getattr(function, "decorator_list", ())]
        if function is None or any(mark.startswith("pytest.mark.night(") for mark in marks):
            unknown.append(f"{module.name}: {named}")
    assert unknown == []


@pytest.mark.parametrize(("times", "left"), [(1, ["daily"]), (4, ["daily", "nightly"])])
def test_marked_tests_are_left_out_except_at_night(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, times: int, left: list[str]
) -> None:
    monkeypatch.setenv("SLUICEGATE_RANDOM_TIMES", str(times))
    module = request.node.getparent(pytest.Module)
    daily, nightly = (
        pytest.Function.from_parent(module, name=name, callobj=lambda: None)
        for name in ("daily", "nightly")
    )
    nightly.add_marker(pytest.mark.night("daily"))
    items: list[pytest.Item] = [daily, nightly]
    night.pytest_collection_modifyitems(request.config, items)
    assert [item.name for item in items] == left
