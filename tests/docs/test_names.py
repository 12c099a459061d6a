"""Every name between backticks exists: in pages, READMEs, decision records, and the changelog."""

from __future__ import annotations

from functools import cache
from pathlib import Path, PurePosixPath

import pytest
from support.names.lookup import Lookup
from support.names.others import NAMES
from support.names.spans import Span, spans
from support.names.tree import Tree
from support.process.docs import ROOT

_PAGES = (
    *("*.md", "docs/**/*.md", "deploy/**/*.md", "plugins/*/README.md", "catalog_adapters/*/README.md"),
    *("examples/*/README.md", "changelog.d/*.md"),
)


@cache
def lookup() -> Lookup:
    return Lookup(Tree.of(ROOT))


@cache
def unknown() -> dict[str, list[str]]:
    """Names that don't exist, and where pages use them."""
    found: dict[str, list[str]] = {}
    pages = sorted(page for pattern in _PAGES for page in ROOT.glob(pattern))
    assert len(pages) > 150
    for page in pages:
        place = PurePosixPath(page.relative_to(ROOT).as_posix())
        for span in spans(page):
            for name in lookup().unknown(span.text, place):
                found.setdefault(name, []).append(f"{place}:{span.line}")
    return found


def test_names_exist() -> None:
    """Fix the name. If it is the name of another product, add it to `tests/support/names/others.py`.

    If a page must name what was renamed or removed, write `old` (now `new`), or `old` (no longer
    exists).
    """
    assert {name: places for name, places in unknown().items() if name not in NAMES} == {}


def test_each_name_of_others_is_used() -> None:
    assert NAMES - unknown().keys() == set()


@pytest.mark.parametrize(
    "text",
    [
        "docs/generate.py",
        "delegation/worker",
        "tests/docs/test_words.py::test_the_pages_use_the_fields_terms",
        "others.py",
        "sluicegate.api.HttpClient",
        "Tree.members",
        "Lookup.unknown(text, page)",
        "limits.table.rows: 5",
        "delegation.issuers[].claim",
        "delegation.clients.NAME.realms",
        "server.stop_timeout",
        "sluicegate.step.duration",
        "https://a.example/x/none.json",
        "plain words, and v1.2",
        "sluicegate recipient rotate NAME --grace 24h",
        "SLUICEGATE_RANDOM_TIMES=4",
        "pip install ./plugins/s3",
        "PYSPARK_GATEWAY_…",
    ],
)
def test_names_that_exist(text: str) -> None:
    assert list(lookup().unknown(text, PurePosixPath("docs/index.md"))) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("store/migrate.py", "store/migrate.py"),
        ("tests/docs/test_words.py::test_nothing", "tests/docs/test_words.py::test_nothing"),
        ("from sluicegate.api import Fresh; sluicegate.api.Fresh", "sluicegate.api.Fresh"),
        ("HttpClient.parsed", "HttpClient.parsed"),
        ("delegation.issuers[].recipients", "delegation.issuers.0.recipients"),
        ("CandidatePlans", "CandidatePlans"),
        ("a candidate_plan", "candidate_plan"),
        ("SLUICEGATE_NO_THING", "SLUICEGATE_NO_THING"),
        ("compute_nothing(1)", "compute_nothing"),
        ("sluicegate recipient revive NAME", "sluicegate recipient revive NAME"),
        ("sluicegate recipient rotate NAME --dry-run", "--dry-run"),
        ("tool --no-such-option", "--no-such-option"),
    ],
)
def test_names_that_do_not_exist(text: str, name: str) -> None:
    assert list(lookup().unknown(text, PurePosixPath("docs/index.md"))) == [name]


def test_old_names_options_and_code_blocks_are_left_out(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "`a` (now `b`), `c` (no longer exists), `d`\nis now called `e`.\n"
        "```\n`f`\n```\n**Options.** `g`\n\n**Decision.** ``h `i` `` and `j\nk`\n"
    )
    assert list(spans(page)) == [Span("b", 1), Span("e", 2), Span("h `i`", 8), Span("j k", 8)]
