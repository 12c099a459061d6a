"""No link of README and docs leads nowhere, and every page can be found from the index."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.process.docs import PAGES, ROOT

LINK = re.compile(r"\]\((?!https?://|mailto:)(?P<target>[^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
INDEX = ROOT / "docs" / "index.md"


def prose(page: Path) -> str:
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Files that a page links, and the headings in them."""
    for found in LINK.finditer(prose(page)):
        path, _, anchor = found["target"].partition("#")
        yield (page.parent / path).resolve() if path else page, anchor


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = [
        f"{target.relative_to(ROOT)}#{anchor}"
        for target, anchor in links(page)
        if not target.exists() or (anchor and anchor not in anchors(target))
    ]
    assert broken == []


def test_every_page_can_be_found_from_the_index() -> None:
    found, waiting = {INDEX}, [INDEX]
    while waiting:
        for target, _ in links(waiting.pop()):
            if target.suffix == ".md" and target.exists() and target not in found:
                found.add(target)
                waiting.append(target)
    assert [str(page.relative_to(ROOT)) for page in PAGES if page not in found] == []
