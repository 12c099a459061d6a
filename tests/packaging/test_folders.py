"""Modules are short, folders have few of them, and modules of plugins do not import in a circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "gateway" / "sluicegate"
PLUGINS = sorted(
    init.parent
    for folder in ("plugins", "catalog_adapters")
    for init in ROOT.glob(f"{folder}/*/src/*/__init__.py")
)
MOST_MODULES = 15
MOST_LINES = 350
MOST_LINES_OF_TESTS = 500
LONGER = {
    "gateway/sluicegate/plugins/hookspecs.py": "one hook after the other, and its documentation",
    "plugins/testing/src/sluicegate_testing/servers/polaris.py": "every endpoint of a server",
}
MOST_ENTRIES = 20
Graph = Mapping[str, set[str]]


def modules(package: Path) -> dict[str, Path]:
    """The files of a package, by the names of their modules."""
    files = sorted(package.rglob("*.py"))
    names = (".".join(file.relative_to(package.parent).with_suffix("").parts) for file in files)
    return dict(zip((name.removesuffix(".__init__") for name in names), files, strict=True))


def long(root: Path) -> dict[str, int]:
    """Files with too many lines, and the number of lines in each. Tests can have more lines."""
    folders = ("gateway", "plugins", "catalog_adapters", "tests", "benchmarks", "docs", "examples")
    files = [file for folder in folders for file in sorted((root / folder).rglob("*.py"))]
    found = {}
    for file in files:
        place = file.relative_to(root)
        most = MOST_LINES_OF_TESTS if {"tests", "benchmarks"} & {*place.parts} else MOST_LINES
        lines = file.read_bytes().count(b"\n")
        if lines > most:
            found[place.as_posix()] = lines
    return found


def crowded(package: Path) -> dict[str, int]:
    """Folders with too many modules, and the number of modules in each."""
    # One file for each migration, which are never read as a whole.
    folders = {file.parent for file in package.rglob("*.py") if file.parent.name != "versions"}
    counts = {folder: len({*folder.glob("*.py")} - {folder / "__init__.py"}) for folder in folders}
    return {
        folder.relative_to(package.parent).as_posix(): count
        for folder, count in sorted(counts.items())
        if count > MOST_MODULES
    }


def circle(package: Path) -> list[str]:
    """Modules or folders of a package that import each other, directly or through others; or nothing.

    Imports for type checkers and in functions count. Folders can import each other even if their
    modules do not.
    """
    known = modules(package)
    imports = {name: set(_imported(name, file, known)) for name, file in known.items()}
    folders = [name for name, file in known.items() if file.name == "__init__.py"]
    graphs = [imports, *(_between_entries(imports, folder) for folder in folders)]
    return next(filter(None, map(_circle, graphs)), [])


def _imported(name: str, file: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules of its own package that a module imports."""
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            source = _source(node, package)
            names = (f"{source}.{alias.name}" for alias in node.names)
            yield from {name if name in known else source for name in names} & known.keys()


def _source(node: ast.ImportFrom, package: str) -> str:
    """The name of the module that a statement in a package imports from."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    return ".".join([*parts[: len(parts) + 1 - node.level], *filter(None, [node.module])])


def _between_entries(imports: Graph, folder: str) -> Graph:
    """What the modules and folders in one folder import from each other."""

    def entry(name: str) -> str | None:
        inner = name.removeprefix(f"{folder}.")
        return None if inner == name else f"{folder}.{inner.partition('.')[0]}"

    found: dict[str, set[str]] = {}
    for name, targets in imports.items():
        if (own := entry(name)) is not None:
            found.setdefault(own, set()).update(filter(None, map(entry, targets)))
    return {own: targets - {own} for own, targets in found.items()}


def _circle(graph: Graph) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_plugin_is_checked() -> None:
    projects = [*ROOT.glob("plugins/*/pyproject.toml"), *ROOT.glob("catalog_adapters/*/pyproject.toml")]
    assert len(PLUGINS) == len(projects) >= 10


def test_modules_are_short() -> None:
    found = long(ROOT)
    assert found.keys() == LONGER.keys(), found
    assert max(found.values()) <= MOST_LINES_OF_TESTS


def test_modules_of_tests_can_be_longer_but_not_much(tmp_path: Path) -> None:
    for folder, lines in (
        ("gateway/a", 350),
        ("gateway/b", 351),
        ("tests/c", 500),
        ("plugins/tests/d", 501),
    ):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "m.py").write_text("pass\n" * lines)
    assert long(tmp_path) == {"gateway/b/m.py": 351, "plugins/tests/d/m.py": 501}


@pytest.mark.parametrize("package", [CORE, *PLUGINS], ids=lambda path: path.name)
def test_no_folder_is_crowded(package: Path) -> None:
    assert crowded(package) == {}


def test_the_core_has_few_entries() -> None:
    entries = {file.relative_to(CORE).parts[0] for file in CORE.rglob("*.py")} - {"__init__.py"}
    assert len(entries) <= MOST_ENTRIES, sorted(entries)


@pytest.mark.parametrize("package", PLUGINS, ids=lambda path: path.name)
def test_no_modules_of_a_plugin_import_each_other(package: Path) -> None:
    assert circle(package) == []


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package in which `a` imports `b.c`."""
    package = tmp_path / "plugin"
    for name in ("__init__.py", "b/__init__.py", "b/c.py", "b/d.py"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("import json\n")
    (package / "a.py").write_text("from plugin.b.c import name\n")
    return package


def test_fifteen_modules_are_not_too_many(package: Path) -> None:
    for number in range(14):
        (package / f"m{number}.py").touch()
    assert crowded(package) == {}
    (package / "m14.py").touch()
    assert crowded(package) == {"plugin": 16}


def test_imports_in_one_direction_are_no_circle(package: Path) -> None:
    (package / "b" / "c.py").write_text("from . import d\nfrom .d import name\nimport plugin.b.d\n")
    assert circle(package) == []


@pytest.mark.parametrize(
    "line",
    [
        "import plugin.a",
        "from plugin import a",
        "from plugin.a import name",
        "from .. import a",
        "from ..a import name",
        "if TYPE_CHECKING:\n    from plugin.a import Name",
        "def function():\n    from ..a import name",
    ],
)
def test_every_kind_of_import_closes_a_circle(package: Path, line: str) -> None:
    (package / "b" / "c.py").write_text(line)
    assert circle(package) in (
        ["plugin.a", "plugin.b.c", "plugin.a"],
        ["plugin.b.c", "plugin.a", "plugin.b.c"],
    )


def test_folders_form_a_circle_even_if_their_modules_do_not(package: Path) -> None:
    (package / "b" / "d.py").write_text("from plugin import a")
    assert set(circle(package)) == {"plugin.a", "plugin.b"}


def test_a_package_that_imports_its_module_is_not_imported_by_it(package: Path) -> None:
    (package / "__init__.py").write_text("from .a import name")
    assert circle(package) == []
    (package / "b" / "c.py").write_text("from plugin import name")
    assert set(circle(package)) == {"plugin", "plugin.a", "plugin.b.c"}
