"""Every message that the troubleshooting page explains is one that the code can say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest
from support.process.docs import ROOT

PAGE = ROOT / "docs" / "operators" / "troubleshooting.md"
SOURCES = (
    "gateway/sluicegate",
    "catalog_adapters/unity/src",
    "plugins/azure/src",
    "plugins/cedar/src",
    "plugins/file/src",
    "plugins/gcs/src",
    "plugins/mtls/src",
    "plugins/opa/src",
    "plugins/r2/src",
    "plugins/s3/src",
    "plugins/spark/src",
)
MESSAGES = re.findall(r"^\| `(.*?)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


@cache
def texts() -> str:
    """Every text of the code, one a line; `…` where something is filled in."""
    files = [path for source in SOURCES for path in sorted((ROOT / source).rglob("*.py"))]
    return "\n".join(text for path in files for text in _texts(ast.parse(path.read_text("utf-8"))))


def _texts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("message", MESSAGES)
def test_the_code_can_say_it(message: str) -> None:
    fragments = [re.escape(fragment.strip(" '")) for fragment in message.split("…")]
    assert re.search("[^\n]*".join(fragments), texts())


def test_the_page_explains_messages() -> None:
    assert len(MESSAGES) > 30
