"""Names that exist in the repository: files, modules and their members, words of the code, and options.

The files are searched with regular expressions, which takes a second, instead of being parsed.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# What tests, tools and builds leave behind, and what is no part of this version.
_LEFT_OUT = {"__pycache__", "build", "dist", "node_modules", "released", "site"}
_CODE = {
    ".py",
    ".pyi",
    ".html",
    ".js",
    ".css",
    ".java",
    ".tf",
    ".tpl",
    ".tfvars",
    ".sh",
    ".cedarschema",
}
_CONFIGURATION = {".toml", ".ini", ".yaml", ".yml", ".json", ".xml", ".service", ".sysusers", ".txt"}
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
# Names that only comments and docstrings contain can be out of date themselves.
_PROSE = re.compile(
    r'^[ \t]*r?""".*?"""|(?P<value>""".*?""")|(?:^|(?<=\s))# .*?$', re.MULTILINE | re.DOTALL
)
_CLASS = re.compile(r"^class (\w+)(?:\(([^)]*)\))?", re.MULTILINE)
_MEMBER = re.compile(
    r"^    (?:async )?(?:def|class) (\w+)|^    (\w+)(?::| =)|\bself\.(\w+)(?::| =)", re.MULTILINE
)
_TOP_LEVEL = re.compile(
    r"^(?:async )?(?:def|class) (\w+)|^(\w+)(?::| =)|^(?:from|import) [^\n(]*?(\w+)$|^    (\w+),$|"
    r'^    "(\w+)",$|^    "(\w+)": ',
    re.MULTILINE,
)
# Files with names that don't exist.
_ABOUT_NAMES = ("tests/docs/test_names.py", "tests/support/names/others.py")
# Names with dots that are texts: of loggers, metrics and attributes of spans.
_DOTTED_TEXT = re.compile(r"[\"']((?:\w+\.)+\w+)(?=[\"'.])")
_SOURCES = ("gateway", "plugins/*/src", "catalog_adapters/*/src", "tests", "benchmarks", "docs")


@dataclass(frozen=True)
class Tree:
    """The names in a repository."""

    paths: frozenset[str]
    words: frozenset[str]
    options: frozenset[str]
    dotted: frozenset[str]
    modules: Mapping[str, frozenset[str]]
    classes: Mapping[str, frozenset[str]]
    bases: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, root: Path) -> Tree:
        """Read a repository. Only modules whose first folder is a source can be imported."""
        paths, words, options, dotted = set[str](), set[str](), set[str](), set[str]()
        modules: dict[str, frozenset[str]] = {}
        classes: dict[str, set[str]] = defaultdict(set)
        bases: dict[str, set[str]] = defaultdict(set)
        sources = [folder for pattern in _SOURCES for folder in sorted(root.glob(pattern))]
        for file in _files(root):
            place = file.relative_to(root)
            paths |= {place.as_posix(), *(parent.as_posix() for parent in place.parents)}
            is_code = file.suffix in _CODE | _CONFIGURATION or file.name == "Dockerfile"
            if not is_code or place.as_posix() in _ABOUT_NAMES:
                continue
            text = file.read_text(encoding="utf-8")
            options.update(_OPTION.findall(text))
            if file.suffix != ".py":
                words.update(_WORD.findall(text))
                continue
            text = _PROSE.sub(lambda found: found["value"] or "", text)
            dotted.update(_DOTTED_TEXT.findall(text))
            words.update(_WORD.findall(text))
            words.add(file.stem)
            for source in sources:
                if file.is_relative_to(source):
                    parts = file.relative_to(source).with_suffix("").parts
                    name = ".".join(parts).removesuffix(".__init__")
                    modules[name] = frozenset(_names(_TOP_LEVEL, text))
            for name, inherited, body in _classes(text):
                classes[name].update(_names(_MEMBER, body))
                bases[name].update(_WORD.findall(inherited))
        return cls(
            frozenset(paths),
            frozenset(words),
            frozenset(options),
            frozenset(dotted),
            modules,
            {name: frozenset(members) for name, members in classes.items()},
            {name: frozenset(each) for name, each in bases.items()},
        )

    @cached_property
    def endings(self) -> frozenset[str]:
        """The ends of all paths: `b/c.py` for `a/b/c.py`."""
        parts = (path.split("/") for path in self.paths)
        return frozenset("/".join(each[start:]) for each in parts for start in range(len(each)))

    @cached_property
    def plugin_keys(self) -> frozenset[str]:
        """The fields of the models of plugins' sections."""
        models = (members for name, members in self.classes.items() if name.endswith("Config"))
        return frozenset[str]().union(*models)

    def members(self, name: str) -> frozenset[str] | None:
        """Members of a class with those that it inherits; `None` if a base is not in the repository."""
        found = self.classes.get(name)
        if found is None:
            return None
        for base in self.bases[name] - {name, "Generic", "Protocol", "ABC"}:
            inherited = self.members(base)
            if inherited is None:
                return None
            found |= inherited
        return found

    def is_importable(self, parts: list[str]) -> bool:
        """Whether a dotted name is a module, a name in it, or a member of a class in it."""
        for end in range(len(parts), 0, -1):
            module = self.modules.get(".".join(parts[:end]))
            if module is not None:
                rest = parts[end:]
                return not rest or (rest[0] in module and self._has(rest))
        return False

    def _has(self, parts: list[str]) -> bool:
        members = self.members(parts[0])
        return len(parts) == 1 or members is None or parts[1] in members


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _LEFT_OUT and name[0] != "."]
        yield from (Path(folder, name) for name in files)


def _names(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    return (name for found in pattern.findall(text) for name in found if name)


def _classes(text: str) -> Iterator[tuple[str, str, str]]:
    """Name, bases and body of each class of a module."""
    found = list(_CLASS.finditer(text))
    for each in found:
        end = re.compile(r"^\S", re.MULTILINE).search(text, each.end())
        yield each[1], each[2] or "", text[each.end() : end.start() if end else len(text)]
