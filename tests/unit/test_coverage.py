"""Every module of the task queue and of the protocols has unit tests, or is on the list."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "gateway"
PACKAGES = ("sluicegate/delegation/queue", "sluicegate/protocols")

# Modules that only other suites test. A module leaves this list when it gets a unit test.
WITHOUT_UNIT_TESTS: frozenset[str] = frozenset()


def modules_to_test() -> set[str]:
    """The modules that are in the two packages and contain more than a docstring."""
    files = (file for package in PACKAGES for file in (SOURCES / package).rglob("*.py"))
    return {_name(file) for file in files if len(ast.parse(file.read_text()).body) > 1}


def _name(file: Path) -> str:
    return ".".join(file.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")


def imported_names(source: str) -> Iterator[str]:
    """The modules that a source imports directly, and the names that it imports from them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def imported_by_unit_tests() -> set[str]:
    files = (ROOT / "tests" / "unit").rglob("test_*.py")
    return {name for file in files for name in imported_names(file.read_text())}


def test_every_module_is_tested_or_on_the_list() -> None:
    missing = modules_to_test() - imported_by_unit_tests() - WITHOUT_UNIT_TESTS
    assert not missing, f"write tests in tests/unit for {sorted(missing)}"


def test_the_list_names_only_modules_without_unit_tests() -> None:
    done = WITHOUT_UNIT_TESTS & imported_by_unit_tests()
    assert not done, f"remove from WITHOUT_UNIT_TESTS, because they have tests: {sorted(done)}"


def test_the_list_names_only_modules_that_exist() -> None:
    gone = WITHOUT_UNIT_TESTS - modules_to_test()
    assert not gone, f"remove from WITHOUT_UNIT_TESTS, because they do not exist: {sorted(gone)}"


def test_imports_of_a_module_are_found_in_each_spelling() -> None:
    source = "import a.b\nfrom c import d\ndef f():\n    from e.f import g\n"
    assert set(imported_names(source)) == {"a.b", "c", "c.d", "e.f", "e.f.g"}
