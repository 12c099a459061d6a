"""The common shape of a plugin's folder: `python -m sluicegate.testing.shape FOLDER [NAME]`.

One word everywhere: folder = entry point = distribution suffix = import suffix = registered type.
In-tree plugins and strangers' are held to the same rules; nothing is imported or run.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluicegate.testing.imports import core_imports, registered_names

SOURCE_MAY_IMPORT = frozenset({"sluicegate.api", "sluicegate.formats"})
TESTS_MAY_IMPORT = SOURCE_MAY_IMPORT | {"sluicegate.testing"}


@dataclass(frozen=True, slots=True)
class Problem:
    """One way in which a folder differs from the shape.

    Attributes:
        path: The file or folder, relative to the plugin's folder.
        message: What is wrong with it, and what to do.
    """

    path: str
    message: str

    def __str__(self) -> str:
        """`path: message`."""
        return f"{self.path}: {self.message}"


@dataclass(frozen=True, slots=True)
class _Plugin:
    folder: Path
    name: str
    project: Mapping[str, Any]

    @property
    def package(self) -> str:
        return f"sluicegate_{self.name.replace('-', '_')}"

    @property
    def source(self) -> Path:
        return self.folder / "src" / self.package


def check_shape(folder: Path, name: str | None = None) -> list[Problem]:
    """What a plugin's folder lacks.

    Args:
        folder: The folder with the plugin's `pyproject.toml`.
        name: The plugin's name; by default the folder's, without `sluicegate-` before it.

    Returns:
        Every problem found; empty for a folder of the common shape.
    """
    try:
        pyproject = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        return [Problem("pyproject.toml", f"cannot be read: {error}")]
    known = name or folder.resolve().name.removeprefix("sluicegate-")
    plugin = _Plugin(folder, known, pyproject.get("project", {}))
    checks: tuple[Callable[[_Plugin], Iterator[Problem]], ...] = (
        _check_project,
        _check_files,
        _check_imports,
        _check_types,
    )
    return [problem for check in checks for problem in check(plugin)]


def main(arguments: list[str]) -> int:
    """Print the problems of a folder; 1 if there are any, 2 without a folder."""
    if not 1 <= len(arguments) <= 2:
        sys.stderr.write("usage: python -m sluicegate.testing.shape FOLDER [NAME]\n")
        return 2
    problems = check_shape(Path(arguments[0]), *arguments[1:])
    lines = [str(problem) for problem in problems] or ["the folder has the common shape"]
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 1 if problems else 0


def _check_project(plugin: _Plugin) -> Iterator[Problem]:
    wanted = {"name": f"sluicegate-{plugin.name}", "readme": "README.md"}
    for key, value in wanted.items():
        if plugin.project.get(key) != value:
            yield Problem("pyproject.toml", f"project.{key} must be '{value}'")
    for key in ("description", "license", "requires-python", "version"):
        if key not in plugin.project and key not in plugin.project.get("dynamic", ()):
            yield Problem("pyproject.toml", f"project.{key} is missing")
    entry_points = {plugin.name: f"{plugin.package}.plugin"}
    if plugin.project.get("entry-points", {}).get("sluicegate") != entry_points:
        line = f'{plugin.name} = "{plugin.package}.plugin"'
        yield Problem("pyproject.toml", f"[project.entry-points.sluicegate] must hold just: {line}")
    if not any(_distribution(text) == "sluicegate" for text in plugin.project.get("dependencies", ())):
        yield Problem("pyproject.toml", "project.dependencies must name 'sluicegate'")


def _check_files(plugin: _Plugin) -> Iterator[Problem]:
    source = f"src/{plugin.package}"
    for path in (
        "README.md",
        f"{source}/__init__.py",
        f"{source}/plugin.py",
        f"{source}/config.py",
        f"{source}/py.typed",
        "tests/test_conformance.py",
    ):
        if not (plugin.folder / path).is_file():
            yield Problem(path, "is missing")
    readme = plugin.folder / "README.md"
    if readme.is_file() and f"type: {plugin.name}" not in readme.read_text(encoding="utf-8"):
        yield Problem("README.md", f"must show a configuration with 'type: {plugin.name}'")


def _check_imports(plugin: _Plugin) -> Iterator[Problem]:
    for part, allowed in (("src", SOURCE_MAY_IMPORT), ("tests", TESTS_MAY_IMPORT)):
        for path, tree in _parsed(plugin.folder / part):
            for line, module in core_imports(tree):
                if not any(module == known or module.startswith(f"{known}.") for known in allowed):
                    where = f"{path.relative_to(plugin.folder)}:{line}"
                    yield Problem(
                        where, f"imports {module}; only {', '.join(sorted(allowed))} is stable"
                    )


def _check_types(plugin: _Plugin) -> Iterator[Problem]:
    for path, tree in _parsed(plugin.source):
        for line, kind, name in registered_names(tree):
            if name != plugin.name:
                where = f"{path.relative_to(plugin.folder)}:{line}"
                yield Problem(where, f"{kind} must be registered as '{plugin.name}', not '{name}'")


def _parsed(folder: Path) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"), str(path))


def _distribution(requirement: str) -> str:
    return (
        requirement.replace("[", " ").replace(">", " ").replace("=", " ").replace("~", " ").split()[0]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
