"""Installs the example plugin as any author would, and runs its tests.

The wheels of the gateway and the kit are built, the example copied out of the tree, all installed into
a fresh environment (without the in-tree plugins), and the plugin's own suite run there. Then a
configuration that uses it is checked by the installed command.

The example of each released version of the gateway runs in the same way, unchanged: what was promised
to plugin authors then (docs/plugins/compatibility.md) holds today. So does the suite of the plugin
`spark`, as far as it needs no JVM: all of its modules are imported, and those run that use the
conformance kit; with `--all`, the others also run.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "third-party-plugin"
RELEASED = ROOT / "tests" / "packaging" / "released"
NAME = "manifest"
CONFIGURATION = "catalogs:\n  lake: {type: manifest, file: tables.csv}\n"
_USES_THE_KIT = re.compile(r"^from (?:sluicegate_testing|sluicegate_spark\.engine)\b", re.MULTILINE)
# The examples treat warnings as errors. The kit's earlier path works with this one.
_TOLERATED = ("-W", "default:sluicegate.testing:DeprecationWarning")
MANIFEST = "schema,table,location\neu,orders,s3://acme-lake/eu/orders\n"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="sluicegate-thirdparty-") as folder:
        wheels = build_wheels(Path(folder))
        for source in (EXAMPLE, *sorted(RELEASED.glob(f"*/{EXAMPLE.name}"))):
            version = "today" if source is EXAMPLE else source.parent.name
            workplace = Path(folder) / version
            workplace.mkdir()
            print(f"the example of {version}")
            try_plugin(source, wheels, workplace)
        try_spark(wheels, Path(folder) / "spark")
    print("the third-party plugins, and the tests of 'spark', work against the built wheel")


def try_plugin(source: Path, wheels: Sequence[Path], workplace: Path) -> None:
    plugin = copy_out(source, workplace / f"sluicegate-{NAME}")
    scripts = make_environment(workplace, wheels, f"sluicegate-{NAME} @ {plugin.as_uri()}")
    if source is EXAMPLE:  # the shape may become stricter; what is installed still has to work
        shape: list[str | Path] = [scripts / "python", "-m", "sluicegate_testing.shape", plugin, NAME]
        run(shape, "the shape of its folder")
    run([scripts / "python", "-m", "pytest", "-q", *_TOLERATED], "its own tests", cwd=plugin)
    use(scripts, workplace)


def try_spark(wheels: Sequence[Path], workplace: Path) -> None:
    """Run the suite of the plugin `spark`, which imports nothing of the repository's tests."""
    plugin = copy_out(ROOT / "plugins" / "spark", workplace / "sluicegate-spark")
    iceberg = copy_out(ROOT / "catalog_adapters" / "iceberg", workplace / "sluicegate-iceberg")
    scripts = make_environment(
        workplace,
        wheels,
        f"sluicegate-iceberg @ {iceberg.as_uri()}",
        f"sluicegate-spark @ {plugin.as_uri()}",
        *test_requirements(plugin),
    )
    left_out = () if "--all" in sys.argv else without_the_kit(plugin)
    suite: list[str | Path] = [scripts / "python", "-m", "pytest", "-q", "-m", "not jvm"]
    run([*suite, *left_out], "the tests of 'spark' that need no JVM", cwd=plugin)


def without_the_kit(plugin: Path) -> list[str]:
    """The options that leave out tests of modules which import no part of the kit."""
    return [
        f"--deselect={module.relative_to(plugin)}"
        for module in sorted(plugin.glob("tests/**/test_*.py"))
        if not _USES_THE_KIT.search(module.read_text(encoding="utf-8"))
    ]


def test_requirements(plugin: Path) -> list[str]:
    """What a plugin's own tests need, without the gateway."""
    project = tomllib.loads((plugin / "pyproject.toml").read_text(encoding="utf-8"))
    wanted: list[str] = project["dependency-groups"]["test"]
    return [each for each in wanted if not each.startswith("sluicegate")]


def copy_out(source: Path, target: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__", ".*_cache", "dist", "build")
    shutil.copytree(source, target, ignore=ignored)
    print(f"copied out of the tree: {target.name}")
    return target


def build_wheels(workplace: Path) -> list[Path]:
    """The wheels of the gateway and of the conformance kit."""
    dist = workplace / "dist"
    for folder in (ROOT, ROOT / "plugins" / "testing"):
        build: list[str | Path] = ["uv", "build", "--wheel", "--quiet", "--out-dir", dist, folder]
        run(build, "building the gateway and the conformance kit")
    wheels = sorted(dist.glob("*.whl"))
    print(f"built {', '.join(wheel.name for wheel in wheels)}")
    return wheels


def make_environment(workplace: Path, wheels: Sequence[Path], *plugins: str) -> Path:
    environment = workplace / "environment"
    run(["uv", "venv", "--quiet", "--python", sys.executable, environment], "a fresh environment")
    scripts = environment / ("Scripts" if sys.platform == "win32" else "bin")
    install: list[str | Path] = ["uv", "pip", "install", "--quiet", "--no-sources", "--python"]
    run([*install, scripts / "python", *wheels, *plugins], "installing it with the gateway and the kit")
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
