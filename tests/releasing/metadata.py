"""What the metadata of a wheel says: version, own dependencies, license, classifiers, links."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.version import Version

from releasing.links import targets
from releasing.projects import Project, repository

_LICENSE: Final = "Apache-2.0"
_PYTHON: Final = ">=3.11"
_PYTHONS: Final = ("3.11", "3.12", "3.13")
_CLASSIFIERS: Final = {
    "Framework :: AsyncIO",
    "Typing :: Typed",
    *(f"Programming Language :: Python :: {version}" for version in _PYTHONS),
}
_URLS: Final = ("Documentation", "Changelog", "Source", "Issues")


def metadata(project: Project, dist: Path) -> Message:
    """The metadata of a project's wheel."""
    name = f"{project.package}-{project.version}.dist-info/METADATA"
    with zipfile.ZipFile(project.wheel(dist)) as archive:
        return Parser().parsestr(archive.read(name).decode())


def problems(project: Project, found: Message, version: str) -> list[str]:
    """What is wrong with the metadata of a wheel, a line for each problem."""
    return [f"{project.name}: {problem}" for problem in _problems(found, version)]


def _problems(found: Message, version: str) -> Iterator[str]:
    expected = {
        "Version": version,
        "License-Expression": _LICENSE,
        "Requires-Python": _PYTHON,
        "Description-Content-Type": "text/markdown",
    }
    for field, value in expected.items():
        if found[field] != value:
            yield f"{field} is {found[field]}, not {value}"
    if "LICENSE" not in (found.get_all("License-File") or ()):
        yield "License-File does not name LICENSE"
    if not found["Summary"]:
        yield "Summary is missing"
    classifiers = set(found.get_all("Classifier") or ())
    for missing in sorted(_CLASSIFIERS - classifiers):
        yield f"the classifier '{missing}' is missing"
    if any(each.startswith("License ::") for each in classifiers):
        yield "a license classifier contradicts License-Expression (PEP 639)"
    for text in found.get_all("Requires-Dist") or ():
        yield from _of_requirement(Requirement(text), Version(version))
    yield from _of_urls(found)
    yield from _of_description(str(found.get_payload()), version)


def _of_requirement(requirement: Requirement, version: Version) -> Iterator[str]:
    """Our own distributions of one minor version work together, and no others do for sure."""
    if requirement.url:
        yield f"{requirement} has an address, which registries refuse"
    if not requirement.name.startswith("sluicegate"):
        return
    following = f"{version.major}.{version.minor + 1}"
    if not requirement.specifier.contains(version) or requirement.specifier.contains(following):
        range_ = f">={version.major}.{version.minor},<{following}"
        yield f"{requirement} has to be {requirement.name}{range_}"


def _of_urls(found: Message) -> Iterator[str]:
    """Registries show these links at the side of the description."""
    urls = dict(text.split(", ", 1) for text in found.get_all("Project-URL") or ())
    for label in _URLS:
        if not urls.get(label, "").startswith(repository()):
            yield f"Project-URL {label} has to start with {repository()}"


def _of_description(text: str, version: str) -> Iterator[str]:
    """Registries show the README, but not the files that its relative links lead to."""
    for target in targets(text):
        if target.startswith(f"{repository()}/blob/"):
            if not target.startswith(f"{repository()}/blob/v{version}/"):
                yield f"the description links to {target}, which is another version"
        elif not target.startswith(("https://", "#")):
            yield f"the description has the link {target}, which has to start with https://"
