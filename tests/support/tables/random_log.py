"""A Delta log that changes at random."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

from support.tables.deltalog import Action, DeltaFolder, add, metadata, protocol, remove, vector
from support.tables.filesets import schema_field

COUNTRIES = ("DE", "FR", None)
VECTOR_NAME = "vBn[lx{q8@P<9BNH/isA"


def partitioned(*columns: tuple[str, str]) -> Action:
    """Metadata of a table with these columns, and a partition column."""
    action = metadata(partitioned_by=["country"])
    fields = [schema_field(*column) for column in (*columns, ("country", "string"))]
    action["metaData"]["schemaString"] = json.dumps({"type": "struct", "fields": fields})
    return action


class RandomTable:
    """A table that changes at random: files come, go, come back, and get deletion vectors."""

    def __init__(self, folder: DeltaFolder, seed: int) -> None:
        self.folder = folder
        self.version = -1
        self._random = random.Random(seed)
        self._live: dict[str, Action] = {}
        self.commit(protocol(3, "deletionVectors"), partitioned(("id", "long")))

    def commit(self, *actions: Action) -> None:
        """Commit these actions, and random changes of files."""
        self.version += 1
        changes = list(self._changes())
        self._random.shuffle(changes)
        self.folder.commit(self.version, *actions, *changes, modified=1000 * (self.version + 1))

    def _changes(self) -> Iterator[Action]:
        choose = self._random
        for path in choose.sample(sorted(self._live), min(len(self._live), choose.randrange(4))):
            old = self._live.pop(path)["add"]
            yield remove(path, **{key: old[key] for key in ("deletionVector",) if key in old})
            if choose.random() < 0.4:
                offset = choose.randrange(1, 1000)
                yield self._add(path, {**old, "deletionVector": vector(VECTOR_NAME, offset)})
        for _ in range(choose.randrange(5)):
            path = f"f{choose.randrange(60)}"
            if path not in self._live:
                yield self._add(path, {})

    def _add(self, path: str, old: Action) -> Action:
        low = self._random.randrange(100)
        values: Action = {
            "size": self._random.randrange(1, 1000),
            "partitionValues": {"country": self._random.choice(COUNTRIES)},
            "stats": self._random.choice(
                [
                    json.dumps(
                        {
                            "numRecords": 5,
                            "minValues": {"id": low},
                            "maxValues": {"id": low + self._random.randrange(9)},
                            "nullCount": {"id": self._random.choice([0, 2, 5])},
                        }
                    ),
                    None,
                ]
            ),
            **{key: old[key] for key in ("size", "partitionValues", "stats") if key in old},
        }
        if "deletionVector" in old:
            values["deletionVector"] = old["deletionVector"]
        self._live[path] = add(path, **values)
        return self._live[path]
