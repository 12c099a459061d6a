"""The changelog that towncrier would write from the fragments in `changelog.d/`."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

from releasing.projects import ROOT

_NAME: Final = re.compile(r"\+[a-z0-9-]+\.(feature|fix|change)\.md")
_ENTRY: Final = re.compile(r"^- ", re.MULTILINE)


def draft(version: str) -> str:
    """The section of a version."""
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", version]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def entries(section: str) -> int:
    """How many changes a section lists."""
    return len(_ENTRY.findall(section))


def problems(version: str) -> Iterator[str]:
    """What is wrong with the changelog: every version has a section or fragments."""
    for path in sorted((ROOT / "changelog.d").glob("[!.]*")):
        if not _NAME.fullmatch(path.name):
            yield f"changelog.d/{path.name}: must be named +NAME.feature.md, .fix.md or .change.md"
        elif not path.read_text(encoding="utf-8").strip():
            yield f"changelog.d/{path.name}: is empty"
    written = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if f"## {version} " not in f"{written}{draft(version)}":
        yield f"CHANGELOG.md: has no section for {version}"
