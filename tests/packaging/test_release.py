"""The checks of `tox -e release` find what is wrong; licenses and changelog are in order."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from email.message import Message
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from releasing import changelog, commit, deployment, environment, licenses, links, metadata
from releasing.build import BuildFailed
from releasing.environment import write_bill_of_materials, write_requirements
from releasing.projects import ROOT, Project, everything, gateway, repository

GATEWAY = gateway()
SOURCE = repository()
LABELS = ("Documentation", "Changelog", "Source", "Issues")


def complete(**changes: str) -> Message:
    """The metadata of a plugin without a mistake, but for the changes."""
    fields = {
        "Version": "0.1.0",
        "License-Expression": "Apache-2.0",
        "Requires-Python": ">=3.11",
        "Description-Content-Type": "text/markdown",
        "License-File": "LICENSE",
        "Summary": "A plugin",
        "Requires-Dist": "sluicegate>=0.1,<0.2",
    }
    found = Message()
    for field, value in (fields | changes).items():
        found[field] = value
    for classifier in ("Framework :: AsyncIO", "Typing :: Typed"):
        found["Classifier"] = classifier
    for version in ("3.11", "3.12", "3.13"):
        found["Classifier"] = f"Programming Language :: Python :: {version}"
    for label in LABELS:
        found["Project-URL"] = f"{label}, {SOURCE}/{label}"
    found.set_payload(f"# A plugin\n\n[Guide]({SOURCE}/blob/v0.1.0/docs/index.md), [below](#limits)\n")
    return found


def test_complete_metadata_has_no_problem() -> None:
    assert metadata.problems(GATEWAY, complete(), "0.1.0") == []


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("Version", "0.2.0", "Version is 0.2.0, not 0.1.0"),
        ("License-Expression", "MIT", "License-Expression is MIT, not Apache-2.0"),
        ("Requires-Python", ">=3.9", "Requires-Python is >=3.9, not >=3.11"),
        ("License-File", "COPYING", "License-File does not name LICENSE"),
        ("Summary", "", "Summary is missing"),
        ("Requires-Dist", "sluicegate", "sluicegate has to be sluicegate>=0.1,<0.2"),
        ("Requires-Dist", "sluicegate>=0.2,<0.3", "has to be sluicegate>=0.1,<0.2"),
        ("Requires-Dist", "sluicegate-s3>=0.1", "has to be sluicegate-s3>=0.1,<0.2"),
        ("Requires-Dist", "x @ file:///x", "has an address, which registries refuse"),
        ("Classifier", "License :: OSI Approved :: MIT License", "contradicts License-Expression"),
    ],
)
def test_a_mistake_in_the_metadata_is_named(field: str, value: str, problem: str) -> None:
    (found,) = metadata.problems(GATEWAY, complete(**{field: value}), "0.1.0")
    assert problem in found


def test_a_missing_classifier_is_named() -> None:
    found = complete()
    del found["Classifier"]
    assert len(metadata.problems(GATEWAY, found, "0.1.0")) == 5


@pytest.mark.parametrize("label", LABELS)
def test_a_missing_link_of_a_project_is_named(label: str) -> None:
    found = complete()
    del found["Project-URL"]
    for other in set(LABELS) - {label}:
        found["Project-URL"] = f"{other}, {SOURCE}"
    (problem,) = metadata.problems(GATEWAY, found, "0.1.0")
    assert problem == f"sluicegate: Project-URL {label} has to start with {SOURCE}"


@pytest.mark.parametrize(
    ("description", "problem"),
    [
        ("[Guide](docs/guide.md)", "has the link docs/guide.md"),
        ("[Guide](../../docs/guide.md#a)", "has the link ../../docs/guide.md#a"),
        ("![A gateway](docs/way.svg)", "has the link docs/way.svg"),
        ("[Guide][1]\n\n[1]: guide.md", "has the link guide.md"),
        ('<img alt="A gateway" src="docs/way.svg">', "has the link docs/way.svg"),
        ("[Guide](http://docs.example/)", "has the link http://docs.example/"),
        (f"[Guide]({SOURCE}/blob/v0.0.9/x.md)", "blob/v0.0.9/x.md, which is another version"),
        (f"[Guide]({SOURCE}/blob/main/x.md)", "blob/main/x.md, which is another version"),
    ],
)
def test_a_link_that_leads_nowhere_on_a_registry_is_named(description: str, problem: str) -> None:
    found = complete()
    found.set_payload(description)
    (named,) = metadata.problems(GATEWAY, found, "0.1.0")
    assert problem in named


def test_samples_have_no_links() -> None:
    text = "See `[a](b)`:\n\n```python\nrows[1](x)\n```\n\n- [c](https://c.example)\n"
    assert links.targets(text) == ["https://c.example"]


@pytest.mark.parametrize(
    ("said", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 AND MIT", True),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only", False),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", True),
        ("MIT AND (GPL-3.0-only OR BUSL-1.1)", False),
        ("LicenseRef-Proprietary", False),
    ],
)
def test_which_license_expressions_are_allowed(said: str, *, allowed: bool) -> None:
    assert licenses.is_allowed(said) is allowed


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("License-Expression: MIT", "MIT"),
        ("License: Apache 2.0", "Apache-2.0"),
        ("License: Apache-2.0 AND MIT", "Apache-2.0 AND MIT"),
        ("License: BSD", "BSD"),
        ("License: GPLv3", None),
        ("License: see LICENSE.txt", None),
        ("Classifier: License :: OSI Approved :: MIT License", "MIT"),
        (
            "License: Dual License\nClassifier: License :: OSI Approved :: BSD License\n"
            "Classifier: License :: OSI Approved :: Apache Software License",
            "BSD OR Apache-2.0",
        ),
        ("Classifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)", None),
        ("Summary: nothing else", None),
    ],
)
def test_the_license_that_metadata_of_any_age_names(
    fields: str, expected: str | None, tmp_path: Path
) -> None:
    found = installed(tmp_path, fields)
    assert licenses.expression(found) == expected
    assert bool(list(licenses.problems([found]))) is (expected is None)


def installed(folder: Path, fields: str) -> Distribution:
    information = folder / "x-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.4\nName: x\nVersion: 1\n{fields}\n")
    return Distribution.at(information)


def required(names: list[str]) -> Iterator[Distribution]:
    """What distributions require, with extras, as far as it is installed."""
    seen: set[str] = set()
    while names:
        requirement = Requirement(names.pop())
        if str(requirement) in seen:
            continue
        seen.add(str(requirement))
        try:
            found = distribution(requirement.name)
        except PackageNotFoundError:  # Spark's, which are installed for its own tests only
            continue
        yield found
        for each in map(Requirement, found.requires or ()):
            extras = [{"extra": extra} for extra in ("", *requirement.extras)]
            if each.marker is None or any(map(each.marker.evaluate, extras)):
                each.marker = None
                names.append(str(each))


def test_every_license_of_what_is_required_is_allowed() -> None:
    roots = [each.name for each in everything()] + [
        "sluicegate[console,demo,otel,postgresql,prometheus]"
    ]
    found = list(required(roots))
    assert len(found) > 60
    assert list(licenses.problems(found)) == []


def test_the_changelog_can_be_written() -> None:
    assert list(changelog.problems(GATEWAY.version)) == []
    assert changelog.entries("## 1 (today)\n\n- One.\n  More.\n- Two.\n") == 2


def test_images_the_chart_and_pages_name_the_version() -> None:
    assert list(deployment.problems(ROOT, GATEWAY.version)) == []
    assert [each.partition(":")[0] for each in deployment.problems(ROOT, "0.0.9")] == [
        "deploy/docker/Dockerfile",
        "deploy/compose/compose.yaml",
        "deploy/helm/sluicegate/Chart.yaml",
        "docs/operators/deployment.md",
        "docs/releasing.md",
    ]


def test_all_projects_are_found() -> None:
    names = {path.parent for path in ROOT.glob("*/*/pyproject.toml") if "examples" not in path.parts}
    assert {each.folder for each in everything()} == {ROOT, *names}
    assert Project.read(ROOT / "plugins" / "s3").package == "sluicegate_s3"


def test_files_that_are_not_committed_are_named(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match="not a git repository"):
        commit.problems(tmp_path)
    subprocess.run([shutil.which("git") or "git", "init", "--quiet", str(tmp_path)], check=True)
    assert commit.problems(tmp_path) == []
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "notes.txt").write_text("x")
    assert commit.problems(tmp_path) == ["package/notes.txt is not committed"]


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """The site packages of an environment in which the plugin `x` of the built wheel is installed."""
    folder = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    with zipfile.ZipFile(PLUGIN.wheel(tmp_path), "w") as wheel:
        wheel.writestr("sluicegate_x/plugin.py", "import json\n")
        wheel.writestr(
            "sluicegate_x-1.dist-info/METADATA",
            "Metadata-Version: 2.4\nName: sluicegate-x\nVersion: 1\n",
        )
        wheel.writestr(
            "sluicegate_x-1.dist-info/entry_points.txt", "[sluicegate]\nx = sluicegate_x.plugin\n"
        )
        wheel.writestr(
            "sluicegate_x-1.dist-info/WHEEL",
            "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr("sluicegate_x-1.dist-info/RECORD", "")
    (site,) = folder.glob("lib/python*/site-packages")
    zipfile.ZipFile(PLUGIN.wheel(tmp_path)).extractall(site)
    return site


PLUGIN = Project(ROOT, "sluicegate-x", "1")


def installation_problems(folder: Path) -> list[str]:
    return list(environment.problems([PLUGIN], folder, folder / "environment"))


def test_what_is_installed_as_it_was_built_has_no_problem(fresh: Path, tmp_path: Path) -> None:
    assert installation_problems(tmp_path) == []


def test_a_distribution_from_elsewhere_is_named(fresh: Path, tmp_path: Path) -> None:
    (fresh / "sluicegate_x" / "plugin.py").write_text("import json  # of a registry\n")
    (problem,) = installation_problems(tmp_path)
    assert problem == (
        "sluicegate-x: the installed sluicegate_x/plugin.py is not that of the built wheel"
    )


def test_a_plugin_whose_requirement_is_missing_is_named(fresh: Path, tmp_path: Path) -> None:
    code = "import no_such_requirement\n"
    (fresh / "sluicegate_x" / "plugin.py").write_text(code)
    with zipfile.ZipFile(PLUGIN.wheel(tmp_path), "w") as wheel:
        wheel.writestr("sluicegate_x/plugin.py", code)
    (problem,) = installation_problems(tmp_path)
    assert problem == (
        "sluicegate-x: sluicegate_x.plugin cannot be loaded: ModuleNotFoundError: No module named "
        "'no_such_requirement'"
    )


def test_the_bill_of_materials_lists_what_is_installed_with_versions(
    fresh: Path, tmp_path: Path
) -> None:
    target = tmp_path / "bill.cdx.json"
    count = write_bill_of_materials(tmp_path / "environment", target)
    document = json.loads(target.read_text())
    assert (document["bomFormat"], len(document["components"])) == ("CycloneDX", count)
    purls = {each["name"]: each.get("purl") for each in document["components"]}
    assert purls == {"sluicegate-x": "pkg:pypi/sluicegate-x@1"}


def test_the_requirements_name_hashes_that_an_installer_checks(fresh: Path, tmp_path: Path) -> None:
    other = distribution("iniconfig")
    named = fresh / f"iniconfig-{other.version}.dist-info" / "METADATA"
    named.parent.mkdir()
    named.write_text(f"Metadata-Version: 2.4\nName: iniconfig\nVersion: {other.version}\n")
    target, wheel = tmp_path / "requirements.txt", PLUGIN.wheel(tmp_path)
    assert write_requirements([PLUGIN], tmp_path, tmp_path / "environment", target) == 2
    lines = target.read_text().splitlines()
    assert f"iniconfig=={other.version} \\" in lines
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert lines[-2:] == ["sluicegate-x==1 \\", f"    --hash=sha256:{digest}"]
    target.write_text("\n".join(lines[-2:]))
    assert installed_with_hashes(target, tmp_path) == 0
    with zipfile.ZipFile(wheel, "a") as changed:
        changed.writestr("sluicegate_x/added.py", "")
    assert installed_with_hashes(target, tmp_path) != 0


def installed_with_hashes(requirements: Path, dist: Path) -> int:
    """The exit status of an installer that requires hashes."""
    command = [shutil.which("uv") or "uv", "pip", "install", "--require-hashes", "--no-index"]
    command += ["--no-deps", "--no-cache", "--reinstall", "--target", str(dist / "target")]
    command += ["--python", sys.executable]
    command += ["--find-links", str(dist), "--requirement", str(requirements)]
    return subprocess.run(command, capture_output=True, check=False).returncode
