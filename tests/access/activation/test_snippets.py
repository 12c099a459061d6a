"""The snippets of the activation page, as data and as HTML."""

from __future__ import annotations

import ast
from html import unescape
from html.parser import HTMLParser

import pytest

from sluicegate.access.activation.page import SNIPPETS, snippets_html
from sluicegate.access.activation.snippets.model import Code, Snippet, Steps, Text, Values

VALUES = Values("config.share", "https://share.example/delta-sharing", "https://share.example/iceberg")
HOSTILE = Values(*("<script>alert(1)</script>&\"'",) * 6)


class Elements(HTMLParser):
    """The names of elements, and the text of each `pre`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.code: list[str] = []
        self._in_code = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        if tag == "pre":
            self._in_code = True
            self.code.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_code = self._in_code and tag != "pre"

    def handle_data(self, data: str) -> None:
        if self._in_code:
            self.code[-1] += data


def code_of(snippet: Snippet) -> list[Code]:
    return [part for part in snippet.parts if isinstance(part, Code)]


def test_there_is_a_snippet_for_each_common_program() -> None:
    assert {snippet.title for snippet in SNIPPETS} == {
        *("pandas", "Polars", "DuckDB", "Spark", "PyIceberg"),
        *("Power BI", "Tableau", "R", "Excel", "curl"),
    }
    assert len({snippet.slug for snippet in SNIPPETS}) == len(SNIPPETS)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.slug)
def test_the_page_contains_the_code_of_the_snippet_and_nothing_to_fill_in(snippet: Snippet) -> None:
    page = Elements(text := snippets_html([snippet], VALUES))
    assert page.code == [VALUES.fill(part.text).rstrip("\n") for part in code_of(snippet)]
    assert "{{" not in text
    assert all(f"<code>{getattr(VALUES, name)}</code>" in text for name in snippet.examples)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.slug)
def test_values_cannot_add_elements(snippet: Snippet) -> None:
    text = snippets_html([snippet], HOSTILE)
    assert Elements(text).names <= {*("details", "summary", "p", "ol", "li", "pre", "code", "strong")}
    assert HOSTILE.profile not in text
    assert HOSTILE.profile in unescape(text)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.slug)
def test_python_code_is_valid(snippet: Snippet) -> None:
    for part in code_of(snippet):
        if part.language == "python":
            ast.parse(VALUES.fill(part.text))


def test_text_can_contain_code_and_labels() -> None:
    parts = (Text("Run `a < b` in *File & Co*."), Steps(("Stop.",)))
    text = snippets_html([Snippet("x", "X", "", parts)], VALUES)
    assert "<p>Run <code>a &lt; b</code> in <strong>File &amp; Co</strong>.</p>" in text
    assert "<ol><li>Stop.</li></ol>" in text


def test_an_unknown_value_is_refused() -> None:
    with pytest.raises(AttributeError, match="secret"):
        VALUES.fill("{{secret}}")
