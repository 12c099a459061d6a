"""Every sample of README and docs runs, in the order in which a reader meets it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.process.docs import PAGES, ROOT, Reader, blocks

# Pages whose reader has a gateway of somebody's already: it serves what the README shares.
SERVED = "From your table to a recipient's rows"
AFTER_README = frozenset(
    {"docs/iceberg.md", "docs/quickstart/recipient.md", "docs/operators/running.md"}
)
# One page for each program; their readers use one gateway, because starting it takes the longest.
FOR_PROGRAMS = tuple(page for page in PAGES if page.parent.name == "recipients")


def names(pages: tuple[Path, ...]) -> list[str]:
    return [str(page.relative_to(ROOT)) for page in pages]


def serve_the_table_of_the_readme(reader: Reader) -> None:
    for block in blocks(ROOT / "README.md"):
        if block.section == SERVED:
            reader.follow(block)


@pytest.mark.parametrize("page", names(tuple(page for page in PAGES if page not in FOR_PROGRAMS)))
def test_every_sample_of_the_page_runs(page: str, tmp_path: Path) -> None:
    with Reader(tmp_path) as reader:
        if page in AFTER_README:
            serve_the_table_of_the_readme(reader)
        for block in blocks(ROOT / page):
            reader.follow(block)


def test_every_sample_for_a_program_of_recipients_runs(tmp_path: Path) -> None:
    with Reader(tmp_path) as reader:
        serve_the_table_of_the_readme(reader)
        for page in FOR_PROGRAMS:
            for block in blocks(page):
                reader.follow(block)
