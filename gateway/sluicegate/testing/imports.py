"""Reads the imports and registered types of a source file from its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_NAMED_AS_THE_PLUGIN = frozenset(
    {"AuthenticatorType", "CatalogType", "PolicyType", "StorageType", "TaskExecutorType"}
)


def core_imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and module of each import from `sluicegate`, `from sluicegate import api` included."""
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
            if module.partition(".")[0] == "sluicegate":
                yield node.lineno, module


def assigned_names(statement: ast.stmt) -> set[str]:
    """The names that a statement assigns."""
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    else:
        return set()
    return {target.id for target in targets if isinstance(target, ast.Name)}


def registered_names(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
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
