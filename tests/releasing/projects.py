"""The distributions of this repository."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Project:
    """One distribution."""

    folder: Path
    name: str
    version: str

    @classmethod
    def read(cls, folder: Path) -> Project:
        """The distribution of a folder."""
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return cls(folder, project["name"], project["version"])

    @property
    def package(self) -> str:
        """The import package, and the start of the names of its files."""
        return self.name.replace("-", "_")

    def wheel(self, dist: Path) -> Path:
        """Where its wheel is built to."""
        return dist / f"{self.package}-{self.version}-py3-none-any.whl"

    def sdist(self, dist: Path) -> Path:
        """Where its source distribution is built to."""
        return dist / f"{self.package}-{self.version}.tar.gz"


def gateway() -> Project:
    """The gateway."""
    return Project.read(ROOT)


def plugins() -> list[Project]:
    """The plugins and catalog adapters, in the order of their folders."""
    found = (
        path.parent for pattern in ("plugins", "catalog_adapters") for path in _pyprojects(pattern)
    )
    return [Project.read(folder) for folder in sorted(found)]


def everything() -> list[Project]:
    """All distributions, the gateway first."""
    return [gateway(), *plugins()]


def for_gateways() -> list[Project]:
    """What gateways and workers can use: everything but the conformance kit."""
    return [each for each in everything() if each.name != "sluicegate-testing"]


def repository() -> str:
    """The address of the repository, which `pyproject.toml` of the gateway names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source: str = project["urls"]["Source"]
    return source


def _pyprojects(folder: str) -> list[Path]:
    return list((ROOT / folder).glob("*/pyproject.toml"))
