"""The tested versions, in `constraints.txt` for pip and tox, and in `pyproject.toml` for `uv run`.

`python tests/releasing/constraints.py` copies the former to the latter.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).resolve().parents[2]
_LIST: Final = re.compile(r"^constraint-dependencies = \[\n.*?^\]\n", re.MULTILINE | re.DOTALL)


def pinned() -> list[str]:
    """The versions in `constraints.txt`."""
    return (_ROOT / "constraints.txt").read_text(encoding="utf-8").split()


def of_uv() -> list[str]:
    """The versions that `uv run` resolves to."""
    settings = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: list[str] = settings["tool"]["uv"]["constraint-dependencies"]
    return found


def main() -> None:
    """Copy the versions."""
    path = _ROOT / "pyproject.toml"
    lines = "".join(f'  "{each}",\n' for each in pinned())
    replacement = f"constraint-dependencies = [\n{lines}]\n"
    path.write_text(
        _LIST.sub(lambda _: replacement, path.read_text(encoding="utf-8")), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
