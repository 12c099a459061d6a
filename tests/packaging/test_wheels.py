"""The distributions, built as for a release, have the right contents and metadata."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib import metadata as installed_metadata
from pathlib import Path

import pytest
from releasing import contents, metadata
from releasing.build import BuildFailed, build
from releasing.projects import ROOT, Project, everything, gateway, plugins

import sluicegate

# Those that are built for each change: plugins have one shape, which `test_shape` checks for all.
BUILT = ("sluicegate", "sluicegate-file", "sluicegate-s3", "sluicegate-iceberg", "sluicegate-testing")
PROJECTS = [
    pytest.param(
        project,
        id=project.name,
        marks=()
        if project.name in BUILT
        else pytest.mark.night("test_a_distribution_is_complete_and_has_nothing_else"),
    )
    for project in everything()
]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build([each for each in everything() if each.name in BUILT], folder)
    return folder


@pytest.mark.parametrize("project", PROJECTS)
def test_a_distribution_is_complete_and_has_nothing_else(project: Project, dist: Path) -> None:
    """It holds exactly its package and its license, with metadata that registries show."""
    if project.name not in BUILT:
        build([project], dist)
    assert contents.problems(project, dist) == []
    found = metadata.metadata(project, dist)
    assert metadata.problems(project, found, sluicegate.__version__) == []


def test_registries_take_the_distributions(dist: Path) -> None:
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, dist.glob("sluicegate*"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_gateways_wheel_holds_the_migrations_and_no_test_server(dist: Path) -> None:
    names = zipfile.ZipFile(gateway().wheel(dist)).namelist()
    assert not any(name.startswith(("sluicegate/testing/", "sluicegate_testing")) for name in names)
    assert any(name.startswith("sluicegate/database/migrations/versions/") for name in names)


def test_the_extra_for_tests_is_the_conformance_kit(dist: Path) -> None:
    required = metadata.metadata(gateway(), dist).get_all("Requires-Dist") or ()
    (kit,) = (text for text in required if text.endswith("extra == 'testing'"))
    assert kit.startswith("sluicegate-testing<")


def test_the_packages_version_is_the_distributions() -> None:
    assert installed_metadata.version("sluicegate") == sluicegate.__version__ == gateway().version


def test_each_license_file_is_the_repositorys() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert {
        each.name for each in plugins() if (each.folder / "LICENSE").read_text("utf-8") != text
    } == set()


@pytest.fixture
def spoiled(dist: Path, tmp_path: Path) -> Path:
    """The files of the plugin `file`, with things missing and things that do not belong there."""
    project = Project.read(ROOT / "plugins" / "file")
    with (
        zipfile.ZipFile(project.wheel(dist)) as before,
        zipfile.ZipFile(project.wheel(tmp_path), "w") as after,
    ):
        for name in before.namelist():
            if not name.endswith(("py.typed", "LICENSE")):
                after.writestr(name, before.read(name))
        for name in ("sluicegate_file/__pycache__/plugin.pyc", "tests/test_plugin.py", "other/x.py"):
            after.writestr(name, b"")
    shutil.copy(project.sdist(dist), project.sdist(tmp_path))
    with tarfile.open(project.sdist(tmp_path), "w:gz") as archive:
        top = f"{project.package}-{project.version}"
        archive.add(ROOT / "LICENSE", f"{top}/LICENSE")
        archive.add(ROOT / "LICENSE", f"{top}/notes.txt")
    return tmp_path


def test_what_is_missing_or_too_much_is_named(spoiled: Path) -> None:
    project = Project.read(ROOT / "plugins" / "file")
    found = "\n".join(contents.problems(project, spoiled))
    for expected in (
        "the license file is missing",
        "other belongs to no package of the project",
        "sluicegate_file/__pycache__/plugin.pyc is a test or a leftover",
        "tests/test_plugin.py is a test or a leftover",
        "sluicegate_file/py.typed is missing",
        "py.typed is missing, so type checkers ignore the package's types",
        "notes.txt does not belong into a source distribution",
        "PKG-INFO is missing",
    ):
        assert expected in found


def test_a_project_that_cannot_be_built_is_named_with_the_builders_words(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[build-system]\nrequires = []\nbuild-backend = 'none'\n")
    with pytest.raises(BuildFailed, match="sluicegate-none cannot be built"):
        build([Project(tmp_path, "sluicegate-none", "0.1.0")], tmp_path / "dist")
