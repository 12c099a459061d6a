"""Looks names of pages up in the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from support.names.commands import unknown_in_command
from support.names.settings import SECTIONS, is_setting
from support.names.tree import Tree

_FOLDERS = "tests|gateway|plugins|catalog_adapters|benchmarks|docs|deploy|examples"
_PATH = re.compile(
    r"(?P<path>[\w./-]*[\w-]\.(?:py|md|toml|ini|yaml|yml|json|txt|xml|html|svg|tf|sh|service)(?!\w)|"
    rf"(?<![\w./])(?:{_FOLDERS})/[\w./-]*)(?:::(?P<name>\w+))?"
)
_PLACEHOLDER = re.compile(r"[…*<>{}$|]|NNNN|VERSION|UUID|vN\b")
_ADDRESS = re.compile(r"https?://\S+")
_INDEX = re.compile(r"\[\]|\[\d+\]")
_DOTTED = re.compile(r"(?<![\w./@-])[A-Za-z_]\w*(?:\.\w+)+(?![\w/@-]|\.\w)")
# CamelCase, snake_case, upper case with underscores, calls, and a word alone. Other words are text.
_NAME = re.compile(
    r"(?<![\w.%…*>}-])(?:[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[a-z]+[A-Z]\w*|[A-Za-z]\w*_\w+|_\w+)(?![\w…*<{-])|"
    r"(?<![\w.%-])[A-Za-z_]\w*(?=\()|^[a-z][a-z0-9_]+$"
)
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
_COMMAND = re.compile(r"^(?:\$ )?sluicegate (.+)$")
_PACKAGE = re.compile(r"sluicegate\w*|support|releasing|mutants|soak|benchmarks")


@dataclass(frozen=True)
class Lookup:
    """Looks names up."""

    tree: Tree

    def unknown(self, text: str, page: PurePosixPath) -> Iterator[str]:
        """Names in a text that the repository doesn't contain."""
        text = _ADDRESS.sub(" ", text)
        command = _COMMAND.match(text)
        if command and "|" not in text:
            yield from unknown_in_command(command[1].split())
        else:
            yield from (found for found in _OPTION.findall(text) if found not in self.tree.options)
        rest = _INDEX.sub(".0", text)
        for found in _PATH.finditer(text):
            # The end of an address, or of a path that begins with a placeholder, is no path.
            before = text[max(found.start() - 1, 0) : found.start()]
            rest = rest.replace(found[0], " ")
            if found[0][0] == "/" or _PLACEHOLDER.search(before + found[0]):
                continue
            if not self._is_path(found["path"], page) or not self._is_word(found["name"]):
                yield found[0]
        yield from (found for found in _DOTTED.findall(rest) if not self._is_dotted(found))
        names = _NAME.findall(_DOTTED.sub(" ", rest))
        yield from (
            found for found in names if not self._is_word(found) and not _COMMIT.fullmatch(found)
        )

    def _is_word(self, name: str | None) -> bool:
        if name is None or name in self.tree.words:
            return True
        return name.endswith("_") and any(word.startswith(name) for word in self.tree.words)

    def _is_path(self, path: str, page: PurePosixPath) -> bool:
        """Whether a file is there, from the root, from the page's folder, or below any folder."""
        path = path.removeprefix("./").rstrip("/")
        near = (str(folder / path) for folder in page.parents)
        return any(place in self.tree.paths for place in near) or path in self.tree.endings

    def _is_dotted(self, name: str) -> bool:
        first, *rest = name.split(".")
        # `sluicegate.plugin.NAME`: parts in upper case are for the reader to replace.
        if name in self.tree.dotted or any(part.isupper() and part.isalpha() for part in rest):
            return True
        if _PACKAGE.fullmatch(first):
            return self.tree.is_importable([first, *rest])
        if first in SECTIONS:
            return (
                is_setting([first, *rest])
                or self.tree.plugin_keys.issuperset([first, *rest])
                or self.tree.is_importable(["sluicegate", first, *rest])
            )
        members = self.tree.members(first)
        if members is not None:
            return rest[0] in members
        return all(part in self.tree.words or part.isdecimal() for part in (first, *rest))
