"""Screenshots of the documentation, which are compared with pages by headings, not by pixels."""

from __future__ import annotations

import json
from pathlib import Path

from support.clients.visitor import Visitor

IMAGES = Path(__file__).resolve().parents[3] / "docs" / "images"
CONTENTS = IMAGES / "headings.json"
LARGEST = 200_000
_REMEDY = "take them again: uvx --with tox-uv tox -e browser -- tests/browser --screenshots"


class Album:
    """The screenshots in `docs/images`.

    Args:
        take: Whether to take them again. If not, pages are compared with the headings that they had.
    """

    def __init__(self, *, take: bool) -> None:
        self._take = take

    def show(self, name: str, visitor: Visitor) -> None:
        """Take the screenshot with this name, or check that it still shows the page."""
        contents = recorded_headings()
        if self._take:
            IMAGES.mkdir(exist_ok=True)
            visitor.page.screenshot(path=IMAGES / f"{name}.png")
            size = (IMAGES / f"{name}.png").stat().st_size
            assert size < LARGEST, f"{name}.png has {size} bytes"
            contents[name] = visitor.headings()
            CONTENTS.write_text(json.dumps(contents, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        assert contents.get(name) == visitor.headings(), f"{name}.png is not current; {_REMEDY}"


def recorded_headings() -> dict[str, list[str]]:
    """The headings in each screenshot, by its name."""
    if not CONTENTS.exists():
        return {}
    found: dict[str, list[str]] = json.loads(CONTENTS.read_text(encoding="utf-8"))
    return found
