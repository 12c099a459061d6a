"""Comments and docstrings of a module, without a tokenizer, which takes a second for 150 modules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_STRING = (
    r'"""(?:\\.|[^\\])*?"""',
    r"'''(?:\\.|[^\\])*?'''",
    r'"(?:\\.|[^"\\\n])*"',
    r"'(?:\\.|[^'\\\n])*'",
)
_COMMENT = re.compile(rf"(?:{'|'.join(_STRING)})|(?P<comment>#[^\n]*)", re.DOTALL)


def comments(source: str) -> Iterator[tuple[int, str]]:
    """The lines and texts of comments, with their `#`."""
    for found in _COMMENT.finditer(source):
        if text := found["comment"]:
            yield source.count("\n", 0, found.start()) + 1, text


def docstrings(tree: ast.AST) -> Iterator[str]:
    """Texts that are statements: docstrings, and the descriptions below attributes."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Constant):
                yield str(node.value.value)
        elif isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            yield from docstrings(node)
