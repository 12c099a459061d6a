"""A fresh environment with the built wheels and what they require, and files that describe it."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path

from releasing.build import uv_path
from releasing.projects import ROOT, Project

# Runs in the new environment, so that a requirement that the metadata lacks is missing.
_LOADING = """
from importlib.metadata import entry_points
for group in ("console_scripts", "sluicegate"):
    for each in entry_points(group=group):
        if each.dist.name.startswith("sluicegate"):
            try:
                each.load()
            except BaseException as error:
                why = f"{type(error).__name__}: {error}"
                print(f"{each.dist.name}: {each.value} cannot be loaded: {why}")
"""
# What users may install; `testing` is for authors of plugins.
_EXTRAS = {"sluicegate": "[console,demo,otel,postgresql,prometheus]", "sluicegate-spark": "[connect]"}


def install(projects: Sequence[Project], dist: Path, environment: Path) -> None:
    """Install the wheels of a folder, with the tested versions of what they require."""
    uv = uv_path()
    wanted = [f"{each.name}{_EXTRAS.get(each.name, '')}=={each.version}" for each in projects]
    tested = ("--constraint", str(ROOT / "constraints.txt"), "--find-links", str(dist))
    python = ("--python", str(python_of(environment)))
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    subprocess.run([uv, "pip", "install", "--quiet", *python, *tested, *wanted], check=True)


def installed(environment: Path) -> Iterator[Distribution]:
    """What is installed."""
    (site,) = environment.glob("lib/python*/site-packages")
    return iter(distributions(path=[str(site)]))


def problems(projects: Sequence[Project], dist: Path, environment: Path) -> Iterator[str]:
    """What is wrong with the installed distributions, a line for each problem.

    An installer could take a distribution of the same version from a registry instead of the built one.
    """
    (site,) = environment.glob("lib/python*/site-packages")
    for project in projects:
        with zipfile.ZipFile(project.wheel(dist)) as wheel:
            for name in wheel.namelist():
                found = site / name
                own = name.startswith(f"{project.package}/") and not name.endswith("/")
                if own and not (found.is_file() and found.read_bytes() == wheel.read(name)):
                    yield f"{project.name}: the installed {name} is not that of the built wheel"
    command = [str(python_of(environment)), "-I", "-c", _LOADING]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    yield from done.stdout.splitlines()
    if done.returncode:
        yield f"the installed plugins cannot be loaded: {done.stderr.strip()}"


def write_bill_of_materials(environment: Path, target: Path) -> int:
    """Write the CycloneDX document of an environment; how many components it lists."""
    described = ("--pyproject", str(ROOT / "pyproject.toml"), "--mc-type", "application")
    format_ = ("--output-reproducible", "--output-format", "JSON", "--spec-version", "1.6")
    command = [sys.executable, "-m", "cyclonedx_py", "environment", *described, *format_]
    python = str(python_of(environment))
    subprocess.run([*command, "--output-file", str(target), python], check=True)
    return len(json.loads(target.read_text(encoding="utf-8"))["components"])


def write_requirements(projects: Sequence[Project], dist: Path, environment: Path, target: Path) -> int:
    """Write the installed packages with versions and hashes of files, and return their number."""
    own = {each.name for each in projects}
    pinned = {each.name: f"{each.name}=={each.version}" for each in installed(environment)}
    command = [uv_path(), "pip", "compile", "--quiet", "--no-deps", "--generate-hashes"]
    command += ["--no-header", "--no-annotate", "--python", str(python_of(environment)), "-"]
    others = "\n".join(pinned[name] for name in sorted(pinned.keys() - own))
    hashed = subprocess.run(command, input=others, text=True, check=True, stdout=subprocess.PIPE).stdout
    for project in projects:
        # uv reads the hashes of an index, and none of files in a folder.
        files = [path for path in (project.sdist(dist), project.wheel(dist)) if path.exists()]
        digests = (hashlib.sha256(path.read_bytes()).hexdigest() for path in files)
        lines = [f"{project.name}=={project.version}", *(f"--hash=sha256:{each}" for each in digests)]
        hashed += " \\\n    ".join(lines) + "\n"
    target.write_text(hashed, encoding="utf-8")
    return len(pinned)


def python_of(environment: Path) -> Path:
    """The interpreter of an environment."""
    return environment / "bin" / "python"
