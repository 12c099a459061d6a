from __future__ import annotations

import shutil
import subprocess
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import sluicegate

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = sorted(
    path.parent for path in ROOT.glob("*/*/pyproject.toml") if path.parts[-3] != "examples"
)
GATEWAY = ROOT / "gateway" / "sluicegate"


def built(project: Path, target: Path) -> list[str]:
    """Names in the wheel of a project."""
    uv = shutil.which("uv")
    assert uv, "building wheels needs uv: pip install uv"
    subprocess.run([uv, "build", "--wheel", "--quiet", "--out-dir", target, project], check=True)
    (wheel,) = target.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def roots(names: list[str]) -> set[str]:
    return {name.partition("/")[0] for name in names}


@pytest.fixture(scope="module")
def gateway_wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return built(ROOT, tmp_path_factory.mktemp("gateway"))


def test_the_gateways_wheel_holds_exactly_its_package(gateway_wheel: list[str]) -> None:
    version = sluicegate.__version__
    assert roots(gateway_wheel) == {"sluicegate", f"sluicegate-{version}.dist-info"}


def test_the_gateways_wheel_holds_every_file_of_the_package(gateway_wheel: list[str]) -> None:
    packed = {name for name in gateway_wheel if name.startswith("sluicegate/")}
    written = {
        str(path.relative_to(GATEWAY.parent))
        for path in GATEWAY.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == written
    assert "sluicegate/py.typed" in packed
    assert "sluicegate/testing/storage.py" in packed
    assert any(name.startswith("sluicegate/store/migrations/versions/") for name in packed)


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda folder: folder.name)
def test_a_plugins_wheel_holds_exactly_its_package(folder: Path, tmp_path: Path) -> None:
    names = built(folder, tmp_path)
    version = tomllib.loads((folder / "pyproject.toml").read_text())["project"]["version"]
    package = f"sluicegate_{folder.name}"
    assert roots(names) == {package, f"{package}-{version}.dist-info"}
    assert f"{package}/py.typed" in names


def test_the_packages_version_is_the_distributions() -> None:
    assert metadata.version("sluicegate") == sluicegate.__version__
