"""The documentation site: it builds strictly without network, and nothing on it leads nowhere."""

from __future__ import annotations

import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import orjson
import pytest
from support.process.docs import PAGES, ROOT

import sluicegate_testing
from sluicegate import api, formats
from sluicegate.api import conditions

# What a browser loads by itself, in contrast to a link that a reader may follow.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
# Ruff, which is not there where the site is built, would be started for each signature.
BUILD = """
import sys
sys.modules["ruff"] = None
from mkdocs.__main__ import cli
cli()
"""
_TAG = re.compile(r"""<(?P<name>[a-z][\w-]*)(?P<attributes>(?:[^>"']|"[^"]*"|'[^']*')*)>""")
_ATTRIBUTE = re.compile(r"""\s(id|href|src)=(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")


class Parsed:
    """The ids of a page, what it loads, and what it links."""

    def __init__(self, text: str) -> None:
        self.ids: set[str] = set()
        self.loaded: set[str] = set()
        self.links: set[str] = set()
        for tag in _TAG.finditer(text):
            values = {
                name: unescape("".join(value)) for name, *value in _ATTRIBUTE.findall(tag["attributes"])
            }
            self.ids.add(values.get("id", ""))
            if tag["name"] == "a" and "href" in values:
                self.links.add(values["href"])
            elif url := values.get(LOADED.get(tag["name"], "")):
                self.loaded.add(url)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        # `--quiet` would hide warnings from `--strict`.
        [sys.executable, "-c", BUILD, "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        # A build that looks something up fails here.
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "ALL_PROXY": "http://127.0.0.1:9"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


@cache
def parsed(page: Path) -> Parsed:
    return Parsed(page.read_text(encoding="utf-8"))


def pages(site: Path) -> Iterator[Path]:
    """The site's pages, without the one of missing pages, whose addresses are absolute."""
    return (page for page in site.rglob("*.html") if page.name != "404.html")


def target(page: Path, url: str) -> tuple[Path | None, str]:
    """The file that an address without a host leads to, and the place in it."""
    parts = urlsplit(url)
    path = os.path.normpath(page.parent / unquote(parts.path)) if parts.path else str(page)
    return _file_of(path), unquote(parts.fragment)


@cache
def _file_of(path: str) -> Path | None:
    """The file that a server returns for a path, if there is one."""
    found = Path(path)
    if found.is_dir():
        found /= "index.html"
    return found if found.exists() else None


def broken(site: Path, page: Path) -> Iterator[str]:
    for url in parsed(page).links | parsed(page).loaded:
        if urlsplit(url).scheme:
            continue
        path, anchor = target(page, url)
        if path is None or (anchor and path.suffix == ".html" and anchor not in parsed(path).ids):
            yield f"{page.relative_to(site)}: {url}"


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    assert [link for page in pages(site) for link in broken(site, page)] == []


def test_a_page_loads_nothing_from_other_hosts(site: Path) -> None:
    loaded = {url for page in pages(site) for url in parsed(page).loaded}
    assert {url for url in loaded if urlsplit(url).netloc} == set()


def test_every_page_of_the_repository_can_be_searched(site: Path) -> None:
    index = orjson.loads((site / "search" / "search_index.json").read_bytes())
    found = {entry["location"] for entry in index["docs"]}
    assert {_address(page) for page in PAGES} - found == set()


def _address(page: Path) -> str:
    path = page.relative_to(ROOT).with_suffix("").as_posix().removeprefix("docs/")
    return {"index": "", "README": "overview/"}.get(path, f"{path}/")


@pytest.mark.parametrize("module", [api, formats], ids=lambda module: module.__name__)
def test_the_reference_has_every_public_name(site: Path, module: ModuleType) -> None:
    names = [name for name in module.__all__ if _is_ours(getattr(module, name))]
    assert len(names) > 15
    page = site / "reference" / module.__name__.rpartition(".")[2] / "index.html"
    ids = parsed(page).ids
    lost = [name for name in names if f"{module.__name__}.{name}" not in ids]
    assert lost == [], "needs a docstring; that of a constant or alias stands below its assignment"


def test_the_reference_has_the_expressions_of_conditions(site: Path) -> None:
    ids = parsed(site / "reference" / "api" / "index.html").ids
    assert [name for name in conditions.__all__ if f"sluicegate.api.conditions.{name}" not in ids] == []


def test_the_reference_has_every_module_of_the_conformance_kit(site: Path) -> None:
    ids = parsed(site / "reference" / "testing" / "index.html").ids
    modules = [
        found.name
        for found in pkgutil.walk_packages(sluicegate_testing.__path__, "sluicegate_testing.")
        if "._" not in found.name
    ]
    assert len(modules) > 10
    assert [name for name in modules if name not in ids] == []


def _is_ours(value: object) -> bool:
    """Whether this project documents a name; others' classes are described by their projects."""
    if isinstance(value, ModuleType):
        return False  # a section of its own
    return not isinstance(value, type) or value.__module__.startswith("sluicegate")
