"""A copy of a table whose log is as less careful writers leave it; its rows are the same.

The writers of these tests are kind: they leave no compactions, complete removes, and declared features,
which hides what a gateway does with other logs.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

_LOG = "_delta_log"
_NOT_IN_OLD_REMOVES = ("size", "partitionValues", "extendedFileMetadata", "stats", "tags")
_UNDECLARED = "deletionVectors"

Lines = list[dict[str, Any]]


class UnkindCopy:
    """Follows a table, commit by commit.

    - Compactions are the actions of their commits, in any order: they may name a file twice.
    - Removes of some commits have neither size nor partition values.
    - No protocol declares deletion vectors; checkpoints, which would, are left out then.
    """

    def __init__(self, source: Path, target: Path, seed: int, *, vectors: bool = False) -> None:
        self._source = source
        self._target = target
        self._dice = random.Random(f"unkind {seed}")
        self._vectors = vectors
        self._commits: list[Lines] = []

    def follow(self) -> None:
        """Bring the copy up to the table."""
        files = {path.relative_to(self._source) for path in _files(self._source)}
        for path in _files(self._target):
            relative = path.relative_to(self._target)
            if relative.parts[0] != _LOG and relative not in files:
                path.unlink()
        for path in sorted(files):
            self._take(path)
        if len(self._commits) > 1:
            self._compact()

    def _take(self, path: Path) -> None:
        source, target = self._source / path, self._target / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.parts[0] != _LOG:
            if not target.exists():
                os.link(source, target)
        elif path.parent.name == _LOG and path.suffix == ".json" and path.stem.isdigit():
            if int(path.stem) == len(self._commits):
                self._commits.append(self._unkind(_lines(source)))
                _write(target, self._commits[-1])
                shutil.copystat(source, target)
        elif not self._vectors:
            shutil.copy2(source, target)

    def _unkind(self, lines: Lines) -> Lines:
        old = self._dice.random() < 0.5
        return [self._changed(line, old=old) for line in lines]

    def _changed(self, line: Mapping[str, Any], *, old: bool) -> dict[str, Any]:
        ((kind, value),) = line.items()
        if kind == "remove" and old:
            return {
                kind: {name: each for name, each in value.items() if name not in _NOT_IN_OLD_REMOVES}
            }
        if kind == "protocol":
            return {kind: {name: _without_vectors(each) for name, each in value.items()}}
        return dict(line)

    def _compact(self) -> None:
        first = self._dice.randrange(len(self._commits) - 1)
        last = self._dice.randrange(first + 1, len(self._commits))
        lines = [line for commit in self._commits[first : last + 1] for line in commit]
        self._dice.shuffle(lines)
        _write(self._target / _LOG / f"{first:020}.{last:020}.compacted.json", lines)


def _without_vectors(value: Any) -> Any:
    return [each for each in value if each != _UNDECLARED] if isinstance(value, list) else value


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _lines(path: Path) -> Lines:
    return [orjson.loads(line) for line in path.read_bytes().splitlines() if line.strip()]


def _write(path: Path, lines: Lines) -> None:
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
