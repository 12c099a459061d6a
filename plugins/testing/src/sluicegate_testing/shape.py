"""Checks the structure of a plugin's folder: `python -m sluicegate_testing.shape FOLDER [NAME]`.

The name must be the same everywhere: folder = entry point = distribution suffix = import suffix =
registered type. The rules are the same for plugins in and outside of the repository. Nothing is
imported or run.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluicegate.api import API_VERSION

SOURCE_MAY_IMPORT = frozenset({"sluicegate.api", "sluicegate.formats"})
TESTING = "sluicegate_testing"
_USAGE = "usage: python -m sluicegate_testing.shape FOLDER [NAME]\n"
_HELP = f"""{_USAGE}
Check that the folder of a plugin has the common shape: metadata, files, imports and names.
NAME is the name of the plugin. By default, it is that of FOLDER without 'sluicegate-'.
"""
TESTS_MAY_IMPORT = SOURCE_MAY_IMPORT | {TESTING}
_NAMED_AS_THE_PLUGIN = frozenset(
    {"AuthenticatorType", "CatalogType", "PolicyType", "StorageType", "TaskExecutorType"}
)
_HOOKS_OF_TYPES = frozenset(
    f"sluicegate_register_{what}"
    for what in (
        "authenticators",
        "catalogs",
        "formats",
        "policies",
        "storage",
        "task_executors",
        "token_bindings",
    )
)


@dataclass(frozen=True, slots=True)
class Problem:
    """A difference between a folder and the common structure.

    Attributes:
        path: The file or folder, relative to the plugin's folder.
        message: The problem, and what to do.
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
    """Check a plugin's folder.

    Args:
        folder: The folder with the plugin's `pyproject.toml`.
        name: The plugin's name. The default is the folder's name without the prefix `sluicegate-`.

    Returns:
        All problems; empty for a folder with the common structure.
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
        _check_api_version,
    )
    return [problem for check in checks for problem in check(plugin)]


def main(arguments: list[str]) -> int:
    """Print the problems of a folder. Returns 1 if there are any, and 2 for a usage error."""
    if {"-h", "--help"} & {*arguments}:
        sys.stdout.write(_HELP)
        return 0
    if not 1 <= len(arguments) <= 2:
        sys.stderr.write(_USAGE)
        return 2
    problems = check_shape(Path(arguments[0]), *arguments[1:])
    lines = [str(problem) for problem in problems] or ["the folder has the common structure"]
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 1 if problems else 0


def _check_project(plugin: _Plugin) -> Iterator[Problem]:
    wanted = {"name": f"sluicegate-{plugin.name}", "readme": "README.md"}
    dynamic = plugin.project.get("dynamic", ())
    for key, value in wanted.items():
        if plugin.project.get(key) != value and key not in dynamic:
            yield Problem("pyproject.toml", f"project.{key} must be '{value}'")
    for key in ("description", "license", "requires-python", "version"):
        if key not in plugin.project and key not in dynamic:
            yield Problem("pyproject.toml", f"project.{key} is missing")
    entry_points = {plugin.name: f"{plugin.package}.plugin"}
    if plugin.project.get("entry-points", {}).get("sluicegate") != entry_points:
        line = f'{plugin.name} = "{plugin.package}.plugin"'
        yield Problem("pyproject.toml", f"[project.entry-points.sluicegate] must contain only: {line}")
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
        *(("tests/test_conformance.py",) if _registers_types(plugin) else ()),
    ):
        if not (plugin.folder / path).is_file():
            yield Problem(path, "is missing")
    readme = plugin.folder / "README.md"
    if readme.is_file() and not _is_configured(plugin.name, readme.read_text(encoding="utf-8")):
        wanted = f"'type: {plugin.name}', or a section '{plugin.name}:'"
        yield Problem("README.md", f"must show a configuration with {wanted}")


def _registers_types(plugin: _Plugin) -> bool:
    """Whether a plugin registers a type for which the kit has a suite."""
    trees = [tree for _, tree in _parsed(plugin.source)]
    functions = (node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef))
    return any(function.name in _HOOKS_OF_TYPES for function in functions)


def _is_configured(name: str, readme: str) -> bool:
    return f"type: {name}" in readme or any(line.startswith(f"{name}:") for line in readme.splitlines())


def _check_imports(plugin: _Plugin) -> Iterator[Problem]:
    for part, allowed in (("src", SOURCE_MAY_IMPORT), ("tests", TESTS_MAY_IMPORT)):
        for path, tree in _parsed(plugin.folder / part):
            for line, module in _core_imports(tree):
                if not _is_public(module, allowed):
                    where = f"{path.relative_to(plugin.folder)}:{line}"
                    yield Problem(
                        where, f"imports {module}; only {', '.join(sorted(allowed))} is stable"
                    )


def _check_types(plugin: _Plugin) -> Iterator[Problem]:
    for path, tree in _parsed(plugin.source):
        for line, kind, name in _registered_names(tree):
            if name != plugin.name:
                where = f"{path.relative_to(plugin.folder)}:{line}"
                yield Problem(where, f"{kind} must be registered as '{plugin.name}', not '{name}'")


def _check_api_version(plugin: _Plugin) -> Iterator[Problem]:
    module = plugin.source / "plugin.py"
    if not module.is_file():
        return
    tree = ast.parse(module.read_text(encoding="utf-8"), str(module))
    if not any("sluicegate_api_version" in _assigned_names(node) for node in tree.body):
        where = str(module.relative_to(plugin.folder))
        line = f'sluicegate_api_version = "{API_VERSION}"'
        yield Problem(where, f"must declare the plugin API that it is written for: {line}")


def _parsed(folder: Path) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"), str(path))


def _distribution(requirement: str) -> str:
    return (
        requirement.replace("[", " ").replace(">", " ").replace("=", " ").replace("~", " ").split()[0]
    )


def _is_public(module: str, allowed: frozenset[str]) -> bool:
    """Whether a module is public. Modules in `api` and `formats` aren't, those in `testing` are."""
    in_kit = TESTING in allowed and module.startswith(f"{TESTING}.")
    return module in allowed or in_kit


def _core_imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and module of each import from the gateway or the kit: `from sluicegate import api`, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found = (
                [f"{node.module}.{alias.name}" for alias in node.names]
                if node.module == "sluicegate"
                else [node.module]
            )
        else:
            continue
        for module in found:
            if module.partition(".")[0] in ("sluicegate", TESTING):
                yield node.lineno, module


def _assigned_names(statement: ast.stmt) -> set[str]:
    """The names that a statement assigns."""
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    else:
        return set()
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _registered_names(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Return line, kind and name of each type with a literal name: `StorageType("s3", …)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (kind := _called(node)) in _NAMED_AS_THE_PLUGIN:
            name = _name_argument(node)
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield node.lineno, kind, name.value


def _called(call: ast.Call) -> str:
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _name_argument(call: ast.Call) -> ast.expr | None:
    if call.args:
        return call.args[0]
    return next((keyword.value for keyword in call.keywords if keyword.arg == "name"), None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
