"""In-tree and external plugins have one shape, and the check finds what differs from it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sluicegate_testing.shape import check_shape

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "third-party-plugin"
KIT = ROOT / "plugins" / "testing"
IN_TREE = [*ROOT.glob("plugins/*/pyproject.toml"), *ROOT.glob("catalog_adapters/*/pyproject.toml")]
PLUGINS = sorted({path.parent for path in IN_TREE} - {KIT})


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda path: path.name)
def test_every_in_tree_plugin_has_the_common_shape(folder: Path) -> None:
    assert check_shape(folder) == []


def test_the_kit_imports_only_what_plugins_may_import() -> None:
    problems = [str(each) for each in check_shape(KIT)]
    assert [each for each in problems if "imports sluicegate." in each] == []


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__", ".*_cache")
    return shutil.copytree(EXAMPLE, tmp_path / "sluicegate-manifest", ignore=ignored)


def test_the_example_has_the_common_shape(plugin: Path) -> None:
    assert check_shape(EXAMPLE, "manifest") == []
    assert check_shape(plugin) == []


def replacing(path: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / path).read_text()
        assert old in text
        (folder / path).write_text(text.replace(old, new))

    return change


def removing(path: str) -> Callable[[Path], None]:
    return lambda folder: (folder / path).unlink()


def adding(path: str, text: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / path).write_text(text)

    return change


SOURCE = "src/sluicegate_manifest"


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        (removing("README.md"), "README.md", "is missing"),
        (removing(f"{SOURCE}/py.typed"), f"{SOURCE}/py.typed", "is missing"),
        (removing(f"{SOURCE}/config.py"), f"{SOURCE}/config.py", "is missing"),
        (removing("tests/test_conformance.py"), "tests/test_conformance.py", "is missing"),
        (removing("pyproject.toml"), "pyproject.toml", "cannot be read"),
        (adding("pyproject.toml", "["), "pyproject.toml", "cannot be read"),
        (replacing("README.md", "type: manifest", "type: x"), "README.md", "must show a configuration"),
        (
            replacing("pyproject.toml", 'name = "sluicegate-manifest"', 'name = "acme"'),
            "pyproject.toml",
            "project.name must be 'sluicegate-manifest'",
        ),
        (
            replacing("pyproject.toml", 'manifest = "sl', 'list = "sl'),
            "pyproject.toml",
            "[project.entry-points.sluicegate] must contain only: manifest",
        ),
        (
            replacing("pyproject.toml", "sluicegate>=0.1", "sluicegate-other"),
            "pyproject.toml",
            "project.dependencies must name 'sluicegate'",
        ),
        (
            replacing("pyproject.toml", "license = ", "# "),
            "pyproject.toml",
            "project.license is missing",
        ),
        (
            replacing(f"{SOURCE}/plugin.py", '"manifest"', '"list"'),
            f"{SOURCE}/plugin.py:17",
            "CatalogType must be registered as 'manifest', not 'list'",
        ),
        (
            replacing(f"{SOURCE}/plugin.py", "sluicegate_api_version", "api"),
            f"{SOURCE}/plugin.py",
            'declare the plugin API that it is written for: sluicegate_api_version = "1.2"',
        ),
        (
            adding(f"{SOURCE}/x.py", "import sluicegate.database"),
            f"{SOURCE}/x.py:1",
            "imports sluicegate.database",
        ),
        (
            adding(f"{SOURCE}/x.py", "from sluicegate import vending"),
            f"{SOURCE}/x.py:1",
            "sluicegate.vending",
        ),
        (
            adding(f"{SOURCE}/x.py", "def f():\n    from sluicegate.api.errors import NotFound"),
            f"{SOURCE}/x.py:2",
            "imports sluicegate.api.errors",
        ),
        (
            adding(f"{SOURCE}/x.py", "import sluicegate.apikeys"),
            f"{SOURCE}/x.py:1",
            "sluicegate.apikeys",
        ),
        (
            adding(f"{SOURCE}/x.py", "import sluicegate_testing"),
            f"{SOURCE}/x.py:1",
            "sluicegate_testing",
        ),
        (
            adding("tests/test_x.py", "import sluicegate.app"),
            "tests/test_x.py:1",
            "imports sluicegate.app",
        ),
        (
            adding("tests/test_x.py", "from sluicegate.testing.fakes import FakeContext"),
            "tests/test_x.py:1",
            "imports sluicegate.testing.fakes",
        ),
    ],
)
def test_a_difference_is_reported_with_its_place(
    plugin: Path, change: Callable[[Path], None], path: str, message: str
) -> None:
    change(plugin)
    problems = check_shape(plugin)
    assert any(found.path == path and message in found.message for found in problems), problems


@pytest.mark.parametrize(
    "line",
    [
        "import sluicegate.api",
        "from sluicegate import api",
        "from sluicegate.api import hookimpl",
        "from . import config",
        "import sluicegate_manifest.config",
        "import json",
    ],
)
def test_what_a_plugin_may_import(plugin: Path, line: str) -> None:
    adding(f"{SOURCE}/x.py", line)(plugin)
    assert check_shape(plugin) == []


def test_external_authors_run_it_as_a_command(plugin: Path) -> None:
    command = [sys.executable, "-m", "sluicegate_testing.shape"]

    def outcome(*arguments: str) -> tuple[int, str]:
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout or done.stderr

    assert outcome(str(plugin)) == (0, "the folder has the common structure\n")
    removing("README.md")(plugin)
    assert outcome(str(plugin)) == (1, "README.md: is missing\n")
    assert outcome()[0] == 2


def test_the_command_explains_itself() -> None:
    command = [sys.executable, "-m", "sluicegate_testing.shape", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: python -m sluicegate_testing.shape FOLDER [NAME]")


def test_a_plugin_without_types_shows_its_section_and_needs_no_suite(plugin: Path) -> None:
    removing("tests/test_conformance.py")(plugin)
    for path in (plugin / SOURCE).glob("*.py"):
        path.write_text(path.read_text().replace("def sluicegate_register_catalogs", "def other"))
    adding("README.md", "```yaml\nmanifest:\n  file: tables.csv\n```\n")(plugin)
    assert check_shape(plugin) == []
