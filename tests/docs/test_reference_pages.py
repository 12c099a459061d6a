"""The pages that are made from the code say what the code says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sluicegate import hookspecs
from sluicegate.config import Settings

DOCS = Path(__file__).resolve().parents[2] / "docs"
HOOKS = [name for name in vars(hookspecs) if name.startswith("sluicegate_")]


def test_the_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, DOCS / "generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_has_a_heading_with_its_signature(hook: str) -> None:
    page = (DOCS / "plugins" / "hooks.md").read_text(encoding="utf-8")
    (heading,) = [line for line in page.splitlines() if line.startswith(f"## `{hook}(")]
    assert " -> " in heading


@pytest.mark.parametrize("key", Settings.model_fields)
def test_every_key_is_described(key: str) -> None:
    page = (DOCS / "reference" / "configuration.md").read_text(encoding="utf-8")
    assert f"| `{key}` | " in page or f"\n## `{key}`\n" in page


def test_every_hook_is_called_by_the_registry() -> None:
    registry = Path(hookspecs.__file__).parent / "registry"
    code = "".join(path.read_text(encoding="utf-8") for path in registry.glob("*.py"))
    assert [hook for hook in HOOKS if f'"{hook}"' not in code] == []
