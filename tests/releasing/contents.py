"""What a wheel and a source distribution hold, and what they must not hold."""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path

from releasing.projects import ROOT, Project

_UNWANTED = re.compile(
    r"(^|/)(tests?|__pycache__|\.[^/]+_cache|\.venv|node_modules)/|\.py[co]$|~$|\.orig$"
)
_OF_SDIST = frozenset(
    {".gitignore", "CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}
)


def problems(project: Project, dist: Path) -> list[str]:
    """What is wrong with the contents of a project's two files, a line for each problem."""
    return [*_of_wheel(project, project.wheel(dist)), *_of_sdist(project, project.sdist(dist))]


def _of_wheel(project: Project, wheel: Path) -> Iterator[str]:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        information = f"{project.package}-{project.version}.dist-info"
        license_file = f"{information}/licenses/LICENSE"
        if license_file not in names:
            yield f"{wheel.name}: the license file is missing"
        elif archive.read(license_file) != (ROOT / "LICENSE").read_bytes():
            yield f"{wheel.name}: its license file is not the repository's"
    for root in sorted({name.partition("/")[0] for name in names} - {project.package, information}):
        yield f"{wheel.name}: {root} belongs to no package of the project"
    yield from _unwanted(wheel, names)
    source = _source(project)
    written = {
        path.relative_to(source.parent).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in names if name.startswith(f"{project.package}/")}
    for name in sorted(written - packed):
        yield f"{wheel.name}: {name} is missing"
    for name in sorted(packed - written):
        yield f"{wheel.name}: {name} is not in the repository"
    if f"{project.package}/py.typed" not in packed:
        yield f"{wheel.name}: py.typed is missing, so type checkers ignore the package's types"


def _of_sdist(project: Project, sdist: Path) -> Iterator[str]:
    with tarfile.open(sdist) as archive:
        top = f"{project.package}-{project.version}/"
        names = [name.removeprefix(top) for name in archive.getnames()]
    source = _source(project).relative_to(project.folder).as_posix()
    for name in sorted(names):
        if not name.startswith(f"{source}/") and name not in _OF_SDIST:
            yield f"{sdist.name}: {name} does not belong into a source distribution"
    for name in sorted({"LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}.difference(names)):
        yield f"{sdist.name}: {name} is missing"
    yield from _unwanted(sdist, names)


def _unwanted(file: Path, names: Collection[str]) -> Iterator[str]:
    for name in filter(_UNWANTED.search, names):
        yield f"{file.name}: {name} is a test or a leftover"


def _source(project: Project) -> Path:
    above = "gateway" if project.folder == ROOT else "src"
    return project.folder / above / project.package
