"""Pages, comments, docstrings, help texts and messages use the field's terms.

Vale, the usual tool, is no package of a registry that the tests may use: its wheel downloads a program.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.names.comments import comments
from support.process.docs import ROOT

# What to write instead; patterns are regular expressions of whole words.
REPLACEMENTS = {
    "(do|does|did|has|have) not answer(ed)?": "does not respond",
    "above all": "especially",
    "again and again": "repeatedly",
    "an own": "a dedicated",
    r"an? \w+ of (its|their) own": "a dedicated, a separate",
    "anew": "again",
    "any more": "no longer",
    "as it should": "as expected",
    "asks|asked(?!:)": "requests, requested",
    "beside": "next to, in addition to",
    "by themselves": "automatically",
    "cut short": "truncated",
    "dies": "ends, expires",
    "doors?": "protocol, endpoint",
    "for as long as": "while",
    "for ever": "forever",
    "forgets?|forgotten": "drop, evict",
    "gives? back|given back": "return",
    "goes by": "uses",
    "goes on|go on|went on": "continue",
    "good for": "valid for",
    "hand(s|ed|ing)? (back|on|out|over)": "return, pass, issue, submit",
    "handed": "passed",
    "in which way": "how",
    "in words": "as text",
    "is said to|are said to": "reports",
    "judges|judged": "checks, decides",
    "kept apart|keeps? apart": "separate",
    "lately": "recently",
    "leads? nowhere": "broken",
    "learnt": "learned, cached",
    "lets? (in|through)": "admit, accept",
    "lies? (in|below|outside|elsewhere)": "is in",
    "makes? sense": "is valid",
    "mend(s|ed|ing)?": "fix",
    "merely": "only",
    "no answers?": "no response",
    "none does|neither does": "no other",
    "nonsense": "an invalid response",
    "nouns?": "model",
    "now and then": "occasionally",
    "one after the other": "sequentially",
    "opens? nothing": "gives no access",
    "over and over": "repeatedly",
    "really": "actually",
    "remember(s|ed)?": "cache, record",
    "shall": "must",
    "side by side": "concurrently",
    "somebody": "someone, another user",
    "spells?": "writes, formats",
    "stand(s|ing)? in for|stand-ins?": "fake, replace",
    "stands? still": "makes no progress",
    "strangers?": "external author",
    "tells|told": "reports, states",
    "to be had|(can|cannot|could|may) be had": "is available",
    "told apart": "distinguished",
    "twins?": "copy",
    "unasked": "without a request",
    "under way": "running, concurrent",
    "voices?": "message",
    "walks?": "read, traverse",
    "what there is": "the content",
    "whoever": "anyone who",
    "whole(?! numbers?)": "entire, complete",
    "whose it is": "its owner",
    "in vain": "without result",
    "without end": "infinite",
}
_FORBIDDEN = re.compile(rf"\b(?:{'|'.join(REPLACEMENTS)})\b".replace(" ", r"\s+"), re.IGNORECASE)
_NO_PROSE = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)|<!--.*?-->", re.DOTALL)
_SOURCES = ("gateway/sluicegate", "plugins/*/src", "catalog_adapters/*/src")
_PAGES = (
    *("*.md", "docs/**/*.md", "plugins/*/README.md", "catalog_adapters/*/README.md"),
    *("examples/*/README.md", "changelog.d/*.md"),
)


def pages() -> list[Path]:
    """All pages, and the fragments of the changelog."""
    return sorted(path for pattern in _PAGES for path in ROOT.glob(pattern))


def modules() -> list[Path]:
    """All modules of the gateway, of plugins and of catalog adapters."""
    folders = [folder for pattern in _SOURCES for folder in ROOT.glob(pattern)]
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def found_in(text: str) -> list[str]:
    """Words of the list in a text, outside of code."""
    return [match.group() for match in _FORBIDDEN.finditer(_NO_PROSE.sub(" ", text))]


def texts(module: Path) -> Iterator[tuple[int, str]]:
    """The lines and texts of comments, docstrings, help texts and messages, if longer than one word."""
    source = module.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value
    yield from comments(source)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Keep it beside the file", ["beside"]),
        ("Beside `beside` it, shall", ["Beside", "shall"]),
        ("the store does\n    not answer", ["does\n    not answer"]),
        (
            "asked: The whole request, a whole number, and a folder of its own",
            ["whole", "a folder of its own"],
        ),
        ("outdoors, besides, marshall, foretold", []),
        ("```console\n$ anew\n```", []),
    ],
)
def test_whole_words_outside_of_code_are_found(text: str, words: list[str]) -> None:
    assert found_in(text) == words


def test_the_pages_use_the_fields_terms() -> None:
    assert len(pages()) > 100
    assert [
        f"{path.relative_to(ROOT)}: {word}"
        for path in pages()
        for word in found_in(path.read_text(encoding="utf-8"))
    ] == []


def test_comments_docstrings_help_texts_and_messages_use_the_fields_terms() -> None:
    assert len(modules()) > 400
    assert [
        f"{path.relative_to(ROOT)}:{line}: {word}"
        for path in modules()
        for line, text in texts(path)
        for word in found_in(text)
    ] == []
