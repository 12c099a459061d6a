"""The screenshots of the documentation. `tests/browser` takes them, and checks what they show."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from support.clients.album import IMAGES, LARGEST, recorded_headings
from support.process.docs import PAGES

SCREENSHOTS = sorted(IMAGES.glob("*.png"))
PNG = b"\x89PNG\r\n\x1a\n"
WIDEST = 1280


def test_each_screenshot_has_recorded_headings() -> None:
    assert [path.stem for path in SCREENSHOTS] == sorted(recorded_headings())
    assert all(recorded_headings().values())


@pytest.mark.parametrize("path", SCREENSHOTS, ids=lambda path: path.stem)
def test_a_screenshot_is_a_small_picture_that_a_page_shows_and_describes(path: Path) -> None:
    content = path.read_bytes()
    assert content.startswith(PNG)
    assert len(content) < LARGEST
    assert struct.unpack(">I", content[16:20])[0] <= WIDEST
    shown = re.compile(rf"!\[[^\]]{{20,}}\]\([^)]*images/{re.escape(path.name)}\)")
    assert [page for page in PAGES if shown.search(page.read_text(encoding="utf-8"))]
