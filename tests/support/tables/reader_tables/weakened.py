"""Reader tables whose protocols were weakened: they lack features that the tables' files need."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from support.tables.reader_tables.tables import ReaderTables, WrittenTable

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


class WeakenedTables(ReaderTables):
    """Writes tables, and then weakens the protocol of each one at random.

    Args:
        folder: The folder of the tables.
        seed: Decides how.
        features: The reader features that each table needs.
    """

    def __init__(self, folder: Path, seed: int, features: Mapping[str, Sequence[str]]) -> None:
        super().__init__(folder)
        self._folder, self._seed, self._features = folder, seed, features
        self.weakenings: dict[str, str] = {}

    def table(self, name: str) -> WrittenTable:
        """A table by its name."""
        table = super().table(name)
        if name not in self.weakenings:
            rng = random.Random(f"{self._seed} {name}")
            needed = list(self._features[name]) or ["deletionVectors"]
            how = self.weakenings[name] = rng.choice(sorted(WEAKENINGS))
            weaken(table.location, WEAKENINGS[how](needed, rng.choice(needed)))
        return table


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
