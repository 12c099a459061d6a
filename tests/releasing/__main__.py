"""Build all distributions and check them: `tox -e release`. Nothing is published or tagged."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from releasing import changelog, commit, contents, deployment, environment, licenses, metadata
from releasing.build import BuildFailed, build
from releasing.projects import ROOT, everything, for_gateways, gateway


class _Refused(Exception):
    """A step found problems; they are printed already."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, check, and print a line for each step."""
    parser = argparse.ArgumentParser(prog="python -m releasing", description=__doc__)
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="where to build to")
    try:
        release(parser.parse_args(arguments).dist.resolve())
    except _Refused:
        return 1
    except BuildFailed as error:
        print(error, file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"failed: {' '.join(map(str, error.cmd))}", file=sys.stderr)
        return 1
    return 0


def release(dist: Path) -> None:
    """Run all steps, and stop after the first one that finds problems."""
    projects, version = everything(), gateway().version
    _check("the commit", commit.problems(ROOT))
    _check("the deployment", deployment.problems(ROOT, version))
    _say(f"removed {_emptied(dist)} files of an earlier build")
    build(projects, dist)
    _say(f"built {len(projects)} distributions of version {version} into {dist.name}/")
    files = [path for each in projects for path in (each.sdist(dist), each.wheel(dist))]
    _twine(files)
    _check("the contents", (each for one in projects for each in contents.problems(one, dist)))
    found = ((one, metadata.metadata(one, dist)) for one in projects)
    _check("the metadata", (each for one in found for each in metadata.problems(*one, version)))
    _check("the changelog", changelog.problems(version))
    _say(f"drafted the changelog: {changelog.entries(changelog.draft(version))} changes to come")
    with tempfile.TemporaryDirectory(prefix="sluicegate-release-") as folder:
        fresh = Path(folder) / "environment"
        used = for_gateways()
        environment.install(used, dist, fresh)
        installed = list(environment.installed(fresh))
        _say(f"installed those for gateways together: {len(installed)} packages")
        _check("the installation", environment.problems(used, dist, fresh))
        _check("the licenses", licenses.problems(installed))
        bill = dist / f"sluicegate-{version}.cdx.json"
        count = environment.write_bill_of_materials(fresh, bill)
        _say(f"wrote {bill.name}: {count} components")
        hashed = dist / f"sluicegate-{version}-requirements.txt"
        count = environment.write_requirements(used, dist, fresh, hashed)
        _say(f"wrote {hashed.name}: {count} packages with hashes")


def _emptied(dist: Path) -> int:
    """Remove the files of an earlier build; how many there were."""
    dist.mkdir(exist_ok=True)
    old = list(dist.glob("sluicegate*"))
    for path in old:
        path.unlink()
    return len(old)


def _twine(files: Sequence[Path]) -> None:
    command = [sys.executable, "-m", "twine", "--no-color", "check", "--strict", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
        raise _Refused
    _say(f"checked {len(files)} files with twine: no problems")


def _check(what: str, problems: Iterable[str]) -> None:
    found = list(problems)
    for problem in found:
        print(problem, file=sys.stderr)
    if found:
        raise _Refused
    _say(f"checked {what}: no problems")


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
