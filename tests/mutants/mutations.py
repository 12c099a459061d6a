"""Mutations of a module: cosmic-ray's operators that leave code that runs, and some of this package."""

from __future__ import annotations

import ast
import difflib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator
from parso.python.tree import Keyword, Name

# Others, such as `*` for `+` or `<` for `is`, mostly raise a TypeError that any test notices.
_CORE = (
    *("AddNot", "NumberReplacer", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceUnaryOperator_Delete_Not"),
    *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ZeroIterationForLoop"),
    *("ReplaceBinaryOperator_Add_Sub", "ReplaceBinaryOperator_Sub_Add"),
    *("ReplaceBinaryOperator_Mul_FloorDiv", "ReplaceBinaryOperator_FloorDiv_Mul"),
    *("ReplaceBinaryOperator_BitAnd_BitOr", "ReplaceBinaryOperator_BitOr_BitAnd"),
    *("ReplaceComparisonOperator_Eq_NotEq", "ReplaceComparisonOperator_NotEq_Eq"),
    *("ReplaceComparisonOperator_Is_IsNot", "ReplaceComparisonOperator_IsNot_Is"),
    *("ReplaceComparisonOperator_Lt_LtE", "ReplaceComparisonOperator_LtE_Lt"),
    *("ReplaceComparisonOperator_Gt_GtE", "ReplaceComparisonOperator_GtE_Gt"),
    *("ReplaceComparisonOperator_Lt_GtE", "ReplaceComparisonOperator_Gt_LtE"),
)
NEVER_RAISED = "CosmicRayTestingException"
"""The exception that handlers catch instead of their own."""
_LOGGERS = ("log", "logger", "_log", "warnings")


class RemoveCall(Operator):  # type: ignore[misc]
    """Removes a statement that only calls something; calls of loggers are kept."""

    def mutation_positions(self, node: Any) -> Iterator[Any]:
        """The position of a statement that is a call."""
        statement = node.children[0] if node.type == "simple_stmt" else None
        if statement is None or statement.type != "atom_expr":
            return
        last = statement.children[-1]
        is_call = last.type == "trailer" and last.children[0] == "("
        if is_call and statement.get_first_leaf().value not in _LOGGERS:
            yield statement.start_pos, statement.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """The same with `pass` in the place of the call."""
        first = node.children[0].get_first_leaf()
        node.children[0] = Keyword("pass", first.start_pos, first.prefix)
        return node

    @classmethod
    def examples(cls) -> Sequence[Any]:
        """None: cosmic-ray's own tests do not know of it."""
        return ()


class ReplaceException(Operator):  # type: ignore[misc]
    """Replaces one exception of a handler; cosmic-ray's operator fails for dotted names."""

    def mutation_positions(self, node: Any) -> Iterator[Any]:
        """The positions of the exceptions of a handler."""
        for parent, index in _caught(node):
            yield parent.children[index].start_pos, parent.children[index].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """The same with an exception that is never raised in the place of the exception."""
        parent, place = _caught(node)[index]
        first = parent.children[place].get_first_leaf()
        parent.children[place] = Name(NEVER_RAISED, first.start_pos, first.prefix)
        return node

    @classmethod
    def examples(cls) -> Sequence[Any]:
        """None: cosmic-ray's own tests do not know of it."""
        return ()


def _caught(node: Any) -> list[tuple[Any, int]]:
    """The exceptions that a handler names, each as an index of its parent's children."""
    if node.type != "except_clause":
        return []
    expression = node.children[1]
    if expression.type != "atom" or expression.children[0] != "(":
        return [(node, 1)]
    inner = expression.children[1]
    if inner.type == "testlist_comp":
        return [(inner, each) for each in range(0, len(inner.children), 2)]
    return [] if inner == ")" else [(expression, 1)]


@dataclass(frozen=True)
class Mutation:
    """One change of one module."""

    path: Path
    line: int
    operator: str
    mutated: str
    diff: str


@dataclass(frozen=True)
class Site:
    """A place where an operator can change a module; `occurrence` counts the operator's places."""

    path: Path
    operator: str
    occurrence: int


def sites(path: Path, source: str) -> list[Site]:
    """All places of a module, in an order that depends on its text alone."""
    nodes = list(ast_nodes(get_ast(source)))
    return [
        Site(path, name, occurrence)
        for name, operator in _operators().items()
        for occurrence, _ in enumerate(
            position for node in nodes for position in operator.mutation_positions(node)
        )
    ]


def sample(root: Path, paths: Sequence[Path], size: int, seed: int) -> list[Mutation]:
    """Mutations that change what some modules do, drawn evenly from all of their sites."""
    sources = {path: (root / path).read_text() for path in sorted(paths)}
    found = [site for path, source in sources.items() for site in sites(path, source)]
    random.Random(seed).shuffle(found)
    drawn: list[Mutation] = []
    for site in found:
        if len(drawn) == size:
            break
        mutation = planted(site, sources[site.path])
        if mutation is not None:
            drawn.append(mutation)
    return drawn


def planted(site: Site, source: str) -> Mutation | None:
    """The mutation at a site; `None` where it only changes annotations or is no Python."""
    operator = _operators()[site.operator]
    mutated = mutate_code(source, operator, site.occurrence)
    try:
        if mutated is None or _meaning(mutated) == _meaning(source):
            return None
    except SyntaxError:
        return None
    before, after = source.splitlines(), mutated.splitlines()
    changed = [
        line
        for line in difflib.unified_diff(before, after, lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    pairs = zip(before, after, strict=False)
    line = next((number for number, (old, new) in enumerate(pairs, 1) if old != new), len(before))
    return Mutation(site.path, line, site.operator, mutated, "\n".join(changed))


@cache
def _operators() -> Mapping[str, Operator]:
    core = {name: get_operator(f"core/{name}")() for name in _CORE}
    return {**core, "RemoveCall": RemoveCall(), "ReplaceException": ReplaceException()}


class _WithoutAnnotations(ast.NodeTransformer):
    """Modules postpone annotations: a change of one changes nothing that runs."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        self.generic_visit(node)
        node.annotation = ast.Constant(None)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.returns = None
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        self.generic_visit(node)
        node.returns = None
        return node


def _meaning(source: str) -> str:
    return ast.dump(_WithoutAnnotations().visit(ast.parse(source)))
