"""Each version of the gateway keeps the example plugin as it was when the version was released."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sluicegate

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "third-party-plugin"
RELEASED = ROOT / "tests" / "packaging" / "released"
VERSIONS = re.findall(r"^## (\d+\.\d+\.\d+) ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not any(part.endswith("cache__") for part in path.parts)
    }


@pytest.mark.parametrize("version", sorted({*VERSIONS, sluicegate.__version__}))
def test_each_version_keeps_its_example(version: str) -> None:
    kept = RELEASED / version / EXAMPLE.name
    assert kept.is_dir(), f"copy {EXAMPLE.relative_to(ROOT)} to {kept.relative_to(ROOT)}"


@pytest.mark.skipif(sluicegate.__version__ in VERSIONS, reason="released: the example may go on")
def test_until_its_release_a_version_keeps_the_example_of_today() -> None:
    kept = RELEASED / sluicegate.__version__ / EXAMPLE.name
    assert files(kept) == files(EXAMPLE), f"copy {EXAMPLE.name} again to {kept.relative_to(ROOT)}"
