"""What was recorded of a run: one record for each test, set-up of a fixture, and process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

Kind = Literal["test", "fixture", "process", "collection"]


@dataclass(frozen=True)
class Record:
    """What one thing took.

    Attributes:
        seconds: Wall time.
        cpu: CPU time in seconds. That of a test includes its fixtures, but not its processes.
    """

    kind: Kind
    name: str
    place: str
    seconds: float
    cpu: float

    @property
    def test(self) -> str:
        """The name by which tests and their processes are added up."""
        return self.place if self.kind == "process" else self.name

    @property
    def area(self) -> str:
        """The folder of the test: two levels below the repository."""
        return "/".join(Path(self.place.partition("::")[0]).parts[:2]) or "collection"


def read(folder: Path) -> list[Record]:
    """The records of all workers of a run."""
    return [
        Record(**orjson.loads(line))
        for file in sorted(folder.glob("*.jsonl"))
        for line in file.read_bytes().splitlines()
    ]


def label(command: Any) -> str:
    """A command without what differs from run to run: its program and its first word."""
    words = [command] if isinstance(command, str | bytes | os.PathLike) else list(command)
    return " ".join(
        _named([os.fsdecode(word) for word in words if isinstance(word, str | bytes | os.PathLike)])
    )


def _named(words: Iterable[str]) -> Iterator[str]:
    """The program, and the first word that is no option, if it is a name."""
    rest = iter(words)
    yield Path(next(rest)).name
    for word in rest:
        if word in ("-c", "-m"):
            yield word if word == "-c" else f"-m {next(rest, '')}"
            return
        if not word.startswith("-"):
            yield Path(word).name[:40]
            return
