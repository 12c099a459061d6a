"""Whether `pip install …` in a page names what there is: nothing is installed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import tomllib

_REQUIREMENT = re.compile(r"(?P<what>[\w./-]+?)(?:\[(?P<extras>[\w,-]+)\])?")
# What pages mention beside the distributions of this repository.
_OTHERS = frozenset({"uv", "delta-sharing", "deltalake"})
_ROOT = Path(__file__).resolve().parents[2]


def check_installation(arguments: Sequence[str], folders: Sequence[Path]) -> None:
    """Check the arguments of a `pip install`.

    Args:
        arguments: Options, requirements, and folders of projects.
        folders: Where those folders may lie.

    Raises:
        AssertionError: There is no such distribution, project or extra.
    """
    for argument in arguments:
        if argument.startswith("-") or argument in _OTHERS:
            continue
        found = _REQUIREMENT.fullmatch(argument)
        assert found, f"cannot be installed: {argument}"
        project = _project(found["what"], folders)
        extras = filter(None, (found["extras"] or "").split(","))
        known = project.get("optional-dependencies", {})
        assert set(extras) <= set(known), f"{argument}: there are the extras {', '.join(known)}"


def _project(what: str, folders: Sequence[Path]) -> dict[str, Any]:
    if what in _distributions():
        return _distributions()[what]
    for folder in folders:
        path = folder / what / "pyproject.toml"
        if path.is_file():
            return _read(path)
    raise AssertionError(f"there is no distribution or project '{what}'")


@cache
def _distributions() -> dict[str, dict[str, Any]]:
    paths = [
        _ROOT / "pyproject.toml",
        *_ROOT.glob("plugins/*/pyproject.toml"),
        *_ROOT.glob("catalog_adapters/*/pyproject.toml"),
    ]
    return {project["name"]: project for project in map(_read, paths)}


def _read(path: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    return project
