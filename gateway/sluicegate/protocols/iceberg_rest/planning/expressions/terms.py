"""Parses what a test compares: names, references, and transforms of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sluicegate.api.errors import InvalidRequest
from sluicegate.protocols.iceberg_rest.planning.expressions.tree import Term

_IDENTITY = "identity"
_FUNCTIONS = ("year", "month", "day", "hour")
_PARAMETERIZED = ("bucket", "truncate")


def parse_term(node: Any) -> Term:
    """Parse a term. `identity` of a column is the column itself.

    Raises:
        InvalidRequest: It is neither a reference by name nor a transform of one.
    """
    if isinstance(node, str):
        return Term(node)
    kind = node.get("type") if isinstance(node, dict) else None
    if kind == "reference":
        name = node.get("term", node.get("name"))
        if isinstance(name, str):
            return Term(name)
    if kind == "transform":
        return _transformed(node.get("transform"), node.get("term"))
    if kind == "apply":
        return _applied(node)
    raise InvalidRequest("filter has a term that is neither the name of a column nor a transform of it")


def _transformed(transform: Any, child: Any) -> Term:
    if not isinstance(transform, str) or (isinstance(child, dict) and child.get("type") != "reference"):
        raise InvalidRequest("filter has a transform that is not one of a column")
    term = parse_term(child)
    return term if transform.lower() == _IDENTITY else Term(term.name, transform)


def _applied(node: Mapping[str, Any]) -> Term:
    """A function of the specification (Iceberg expressions specification, "Partition transforms")."""
    function, arguments = node.get("function"), node.get("arguments")
    if isinstance(function, dict):
        function = function.get("identifier")
    if isinstance(function, list):
        function = function[-1] if function else None
    match function, arguments:
        case "identity", [child]:
            return _transformed(_IDENTITY, child)
        case str(), [child] if function in _FUNCTIONS:
            return _transformed(function, child)
        case str(), [int() as parameter, child] if function in _PARAMETERIZED:
            return _transformed(f"{function}[{parameter}]", child)
    raise InvalidRequest("filter applies a function that is not a partition transform of a column")
