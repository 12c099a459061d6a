"""Weakened protocols: they lack features that the tables' files need."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Protocol = Mapping[str, Any]


def versions(reader: int, writer: int, **lists: Sequence[str]) -> Protocol:
    """A protocol with some of its lists."""
    return {"minReaderVersion": reader, "minWriterVersion": writer, **lists}


# By name: the protocol without `lacking`, one of the features that the table needs.
WEAKENINGS: Mapping[str, Callable[[Sequence[str], str], Protocol]] = {
    "versions 1 and 2": lambda names, lacking: versions(1, 2),
    "versions 2 and 5": lambda names, lacking: versions(2, 5),
    "writer features": lambda names, lacking: versions(1, 7, writerFeatures=names),
    "version 2 without it": lambda names, lacking: versions(
        2, 7, writerFeatures=_without(names, lacking)
    ),
    "no lists": lambda names, lacking: versions(3, 7),
    "empty lists": lambda names, lacking: versions(3, 7, readerFeatures=[], writerFeatures=[]),
    "readers lack it": lambda names, lacking: versions(
        3, 7, readerFeatures=_without(names, lacking), writerFeatures=names
    ),
    "writers lack it": lambda names, lacking: versions(
        3, 7, readerFeatures=names, writerFeatures=_without(names, lacking)
    ),
    "both lack it": lambda names, lacking: versions(
        3,
        7,
        readerFeatures=_without(names, lacking),
        writerFeatures=_without(names, lacking),
    ),
    "lists that version 1 has not": lambda names, lacking: versions(
        1, 7, readerFeatures=names, writerFeatures=names
    ),
}


def weaken(table: Path, protocol: Protocol) -> None:
    """Replace each protocol in the log of a table, whose checkpoints are removed.

    The log must still have all of its commits. Otherwise, the table stays as it is.
    """
    log = table / "_delta_log"
    if not (log / f"{0:020}.json").exists():
        return
    for commit in sorted(log.glob("*.json")):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        lines = [{"protocol": protocol} if "protocol" in action else action for action in actions]
        commit.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for checkpoint in (*log.glob("*.checkpoint*"), *log.glob("_last_checkpoint"), *log.glob("*.crc")):
        checkpoint.unlink(missing_ok=True)


def _without(names: Sequence[str], lacking: str) -> list[str]:
    return [name for name in names if name != lacking]
