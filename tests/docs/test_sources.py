"""Every document that code cites can be found on the page of sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from support.names.comments import comments, docstrings
from support.process.docs import PAGES, ROOT

PAGE = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith(("| RFC |", "| short name |"))
]
NAMES = sorted({re.sub(r"\[(.*?)\]\(.*?\)", r"\1", row[0]) for row in ROWS})
CODE = [
    path
    for folder in ("gateway", "plugins", "catalog_adapters", "tests", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path != Path(__file__)
]
_SOURCES = re.compile(r"\bSources?: (.*?)(?:\.(?= |$)|$)")
# What stands before a title in quotation marks: `Delta protocol, "Checkpoints"`.
_BEFORE_TITLE = re.compile(r'([^",;(]+|"), "(?=[A-Z])')
# SKILL.md is a file in the folder of a skill.
_DOCUMENT = re.compile(r"(?<![\w/*.-])(?!SKILL\.md)[\w./-]*\w\.md\b")


def explanations(path: Path) -> Iterator[str]:
    """Docstrings and comments of a module, each on one line."""
    text = path.read_text(encoding="utf-8")
    for docstring in docstrings(ast.parse(text)):
        yield " ".join(docstring.split())
    yield " ".join(comment.lstrip("# ") for _, comment in comments(text))


@cache
def explained() -> list[tuple[str, str]]:
    return [(str(path.relative_to(ROOT)), text) for path in CODE for text in explanations(path)]


def is_known(citation: str) -> bool:
    """Whether a citation begins with a document of the page; numbers of RFCs are checked below."""
    return citation.startswith((*NAMES, "RFC "))


def test_every_source_is_on_the_page() -> None:
    cited = [
        (path, part.strip())
        for path, text in explained()
        for sources in _SOURCES.findall(text)
        for part in sources.split(";")
    ]
    assert len(cited) > 40
    assert [each for each in cited if not is_known(each[1])] == []


def test_every_cited_section_is_of_a_document_on_the_page() -> None:
    cited = [
        (path, document.strip())
        for path, text in explained()
        if path.startswith(("gateway", "plugins", "catalog_adapters")) and "/tests/" not in path
        for document in _BEFORE_TITLE.findall(text)
    ]
    assert len(cited) > 80
    assert [each for each in cited if not each[1].endswith((*NAMES, '"'))] == []


def test_every_cited_rfc_is_on_the_page() -> None:
    cited = {number for _, text in explained() for number in re.findall(r"(?<!ZeroMQ )RFC (\d+)", text)}
    assert len(cited) > 10
    assert sorted(cited - set(re.findall(r"^\| \[RFC (\d+)\]", PAGE, re.MULTILINE))) == []


def test_documents_that_are_cited_by_a_path_are_in_the_repository() -> None:
    cited = {(path, name) for path, text in explained() for name in _DOCUMENT.findall(text)}
    assert len(cited) > 5
    assert sorted(each for each in cited if not (ROOT / each[1]).exists()) == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_source_has_an_address_and_a_version(row: list[str]) -> None:
    assert "](" in "".join(row)
    assert row[-1]


def test_pages_name_no_document_that_a_reader_cannot_find() -> None:
    files = [str(path) for top in ("*.md", "*/**/*.md") for path in ROOT.glob(top)]
    named = {
        (page.name, name)
        for page in PAGES
        if page.name != "sources.md"
        for name in re.findall(r"(?<![\w./+<-])[\w-][\w./-]*\.md\b", page.read_text(encoding="utf-8"))
        if "://" not in name and "NNNN" not in name and name != "SKILL.md"
    }
    assert len(named) > 20
    assert (
        sorted(each for each in named if not any(file.endswith(f"/{each[1]}") for file in files)) == []
    )


def test_every_rfc_that_pages_name_is_a_source() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    cited = set(re.findall(r"(?<!ZeroMQ )\bRFC (\d+)", text))
    assert cited - set(re.findall(r"^\| \[RFC (\d+)\]", PAGE, re.MULTILINE)) == set()
