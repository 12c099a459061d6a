"""`pip install …` in a page, without a package index.

What is named must be there. The repository's own distributions are installed already; a project that
the reader made is put on the path with its metadata, as an editable installation does.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

_REQUIREMENT = re.compile(r"(?P<what>[\w./-]+?)(?:\[(?P<extras>[\w,-]+)\])?")
# What pages mention beside the distributions of this repository.
_OTHERS = frozenset(
    {"uv", "delta-sharing", "deltalake", "duckdb", "polars", "pyiceberg[pyarrow]", "s3fs"}
)
_ROOT = Path(__file__).resolve().parents[3]


def install(arguments: Sequence[str], folder: Path) -> Iterator[Path]:
    """Install what a page says.

    Yields:
        What to put on Python's path.
    """
    for argument in arguments:
        if argument.startswith("-") or argument in _OTHERS:
            continue
        found = _REQUIREMENT.fullmatch(argument)
        assert found, f"cannot be installed: {argument}"
        mine = folder / found["what"]
        project = _project(found["what"], mine)
        extras = filter(None, (found["extras"] or "").split(","))
        known = project.get("optional-dependencies", {})
        assert set(extras) <= set(known), f"{argument}: there are the extras {', '.join(known)}"
        if found["what"] not in _distributions() and (mine / "pyproject.toml").is_file():
            _write_metadata(project, mine / "src")
            yield mine / "src"


def _project(what: str, mine: Path) -> dict[str, Any]:
    if what in _distributions():
        return _distributions()[what]
    for path in (mine / "pyproject.toml", _ROOT / what / "pyproject.toml"):
        if path.is_file():
            return _read(path)
    raise AssertionError(f"there is no distribution or project '{what}'")


def _write_metadata(project: dict[str, Any], source: Path) -> None:
    name, version = project["name"], project["version"]
    metadata = source / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = project.get("entry-points", {})
    lines = [
        line
        for group, points in groups.items()
        for line in (f"[{group}]", *(f"{key} = {value}" for key, value in points.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines))


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
