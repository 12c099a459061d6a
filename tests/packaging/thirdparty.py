"""Installs the example plugin as a stranger would, and runs its tests.

The gateway's wheel is built, the example copied out of the tree, both installed into a fresh
environment (without the in-tree plugins), and the plugin's own suite run there. Then a configuration
that uses it is checked by the installed command.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = "manifest"
CONFIGURATION = "catalogs:\n  lake: {type: manifest, file: tables.csv}\n"
MANIFEST = "schema,table,location\neu,orders,s3://acme-lake/eu/orders\n"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="sluicegate-thirdparty-") as folder:
        workplace = Path(folder)
        plugin = copy_example(workplace)
        wheel = build_wheel(workplace)
        scripts = make_environment(workplace, wheel, plugin)
        run(
            [scripts / "python", "-m", "sluicegate.testing.shape", plugin, NAME],
            "the shape of its folder",
        )
        run([scripts / "python", "-m", "pytest", "-q"], "its own tests", cwd=plugin)
        use(scripts, workplace)
    print("the third-party plugin works against the built wheel")


def copy_example(workplace: Path) -> Path:
    target = workplace / f"sluicegate-{NAME}"
    ignored = shutil.ignore_patterns("__pycache__", ".*_cache", "dist", "build")
    shutil.copytree(ROOT / "examples" / "third-party-plugin", target, ignore=ignored)
    print(f"copied the example out of the tree: {target.name}")
    return target


def build_wheel(workplace: Path) -> Path:
    run(
        ["uv", "build", "--wheel", "--quiet", "--out-dir", workplace / "dist", ROOT],
        "building the gateway",
    )
    (wheel,) = (workplace / "dist").glob("*.whl")
    print(f"built {wheel.name}")
    return wheel


def make_environment(workplace: Path, wheel: Path, plugin: Path) -> Path:
    environment = workplace / "environment"
    run(["uv", "venv", "--quiet", "--python", sys.executable, environment], "a fresh environment")
    scripts = environment / ("Scripts" if sys.platform == "win32" else "bin")
    wanted = [f"sluicegate[testing] @ {wheel.as_uri()}", f"sluicegate-{NAME} @ {plugin.as_uri()}"]
    run(["uv", "pip", "install", "--quiet", "--python", scripts / "python", *wanted], "installing both")
    return scripts


def use(scripts: Path, workplace: Path) -> None:
    (workplace / "gateway.yaml").write_text(CONFIGURATION)
    (workplace / "tables.csv").write_text(MANIFEST)
    command = scripts / "sluicegate"
    run([command, "config", "check"], "a configuration that names it", cwd=workplace)
    listed = run([command, "tables"], "listing its tables", cwd=workplace)
    assert listed == "lake\teu\torders\teu.orders\n", listed
    reported = run([command, "plugins"], "listing plugins", cwd=workplace)
    names = [line.split()[0] for line in reported.splitlines()[1:]]
    assert names == [NAME], names


def run(command: list[str | Path], what: str, cwd: Path | None = None) -> str:
    print(f"- {what}: {' '.join(Path(str(part)).name for part in command[:4])}", flush=True)
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, stdout=subprocess.PIPE, text=True, check=False
    )
    print(done.stdout, end="", flush=True)
    if done.returncode:
        sys.exit(f"{what} failed with {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    main()
