"""MkDocs hooks: the site is built from the same files that readers of the repository see.

Pages outside of `docs/`, such as `README.md` and those of plugins, join the site, and links are
rewritten to the pages' addresses there. A link to a file that is not a page, such as source code, leads
to `repo_url`. While `mkdocs.yml` has no such key, only the link's text remains.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

OUTSIDE = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "plugins/*/README.md",
    "catalog_adapters/*/README.md",
)
_FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(
    r"(?P<start>\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\()(?![a-z]+:|#)(?P<target>[^)\s#]+)(?P<anchor>#[^)\s]+)?\)"
)
# Markdown on GitHub lets a list follow a paragraph; Python-Markdown wants an empty line between them.
_LIST_AFTER_TEXT = re.compile(r"^(?![-*] |\d+\. |[ |])(?P<text>\S.*\n)(?=[-*] |1\. )", re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace entries of the navigation that have a `*` with the pages that they stand for."""
    config.nav = [_expanded(entry, Path(config.docs_dir)) for entry in config.nav or []]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside of `docs/`."""
    root = Path(config.docs_dir).parent
    for path in (path for pattern in OUTSIDE for path in sorted(root.glob(pattern))):
        uri = page_uri(path.relative_to(root).as_posix())
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite the links of a page, and separate its lists from text; samples stay as they are."""
    source = Path(str(page.file.abs_src_path)).relative_to(Path(config.docs_dir).parent).as_posix()

    def prose(text: str) -> str:
        text = _LIST_AFTER_TEXT.sub(r"\g<text>\n", text)
        return _LINK.sub(lambda link: _relinked(link, source, config, files), text)

    parts, end = [], 0
    for sample in _FENCED.finditer(markdown):
        parts += [prose(markdown[end : sample.start()]), sample[0]]
        end = sample.end()
    return "".join([*parts, prose(markdown[end:])])


def page_uri(path: str) -> str:
    """The path on the site of a file of the repository; both are relative to their roots."""
    if path == "README.md":
        return "overview.md"  # a README.md would become the index of the site
    return path.removeprefix("docs/").replace("/README.md", ".md")


def _relinked(link: re.Match[str], source: str, config: MkDocsConfig, files: Files) -> str:
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link["target"]))
    uri, anchor = page_uri(target), link["anchor"] or ""
    if files.get_file_from_path(uri):
        relative = posixpath.relpath(uri, posixpath.dirname(page_uri(source)) or ".")
        return f"{link['start']}{relative}{anchor})"
    if config.repo_url:
        return f"{link['start']}{config.repo_url.rstrip('/')}/blob/main/{target}{anchor})"
    return link["text"]


def _expanded(entry: Any, docs: Path) -> Any:
    """An entry of the navigation with the pages that its `*` stand for; paths start at `docs/`."""
    if isinstance(entry, dict):
        return {title: _expanded(value, docs) for title, value in entry.items()}
    if isinstance(entry, list):
        return [page for item in entry for page in _pages(item, docs)]
    return entry


def _pages(item: Any, docs: Path) -> Iterator[Any]:
    if not isinstance(item, str) or "*" not in item:
        yield _expanded(item, docs)
        return
    for path in sorted(docs.glob(item)):
        yield page_uri(path.resolve().relative_to(docs.parent).as_posix())
