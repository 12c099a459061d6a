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


def names(pages: tuple[Path, ...]) -> list[str]:
    return [str(page.relative_to(ROOT)) for page in pages]


@pytest.mark.parametrize("page", names(PAGES))
def test_every_sample_of_the_page_runs(page: str, tmp_path: Path) -> None:
    with Reader(tmp_path) as reader:
        if page in AFTER_README:
            for block in blocks(ROOT / "README.md"):
                if block.section == SERVED:
                    reader.follow(block)
        for block in blocks(ROOT / page):
            reader.follow(block)
