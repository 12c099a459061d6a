"""YAML and JSON that is short, and nested, repeated or made of aliases."""

from __future__ import annotations

import gzip
import json
import random
from typing import Any

from support.fuzz.grammars.sizes import many
from support.tables.iceberg_by_hand import COLUMNS

_SCALARS = ("a", "''", '"\\u00e9"', "~", "1", "2001-01-01", "!!binary aaaa", "!x y", "*a", "&b b", "|")
_OPENING = ("- ", "? ", "[", "{", "a: ", "&a ", "!!set ", "- - ", "'", "| ", ">\n ", "\t", "%", ": ")
_JSON = ("[]", "{}", "0", '""', "null", "1e9", '"\\ud83d\\ude00"', '{"a":1}', "[[[]]]", '"é"', "9" * 19)


def skill(dice: random.Random) -> bytes:
    """The beginning of a `SKILL.md`."""
    lines = ["name: skill", f"description: &a {'x' * many(dice, 1 << 10)}"]
    for _ in range(dice.randint(1, 4)):
        key = dice.choice(["metadata", "allowed-tools", "license", "x", "? y", "<<"])
        lines.append(f"{key}: {_yaml(dice, 0)}")
    if dice.random() < 0.3:
        lines.append(dice.choice(_OPENING) * many(dice, 1 << 13))
    return ("---\n" + "\n".join(lines) + "\n---\n").encode()


def _yaml(dice: random.Random, depth: int) -> str:
    shape = dice.choice(["scalar", "list", "mapping", "block", "long"])
    if depth > 3 or shape == "scalar":
        return dice.choice(_SCALARS)
    if shape == "long":
        return dice.choice(["x ", "*a ", "- ", "x: ", "'", "\\", "é"]) * many(dice, 1 << 12)
    parts = [_yaml(dice, depth + 1) for _ in range(dice.randint(1, 3))]
    parts *= min(many(dice, 1 << 12), 1 + (1 << 13) // (1 + sum(map(len, parts))))
    if shape == "list":
        return "[" + ", ".join(parts) + "]"
    if shape == "mapping":
        return "{" + ", ".join(f"k{number}: {part}" for number, part in enumerate(parts)) + "}"
    indent = "\n" + "  " * (depth + 1)
    return "".join(f"{indent}k{number}: {part}" for number, part in enumerate(parts))


def table_metadata(dice: random.Random) -> bytes:
    """A metadata file of Iceberg, with some members that are others."""
    document: dict[str, Any] = {
        "format-version": 2,
        "location": "file:///t",
        "schemas": [COLUMNS],
        "current-schema-id": 0,
        "snapshots": [{"snapshot-id": 1, "timestamp-ms": 1}],
        "snapshot-log": [],
        "properties": {"schema.name-mapping.default": "[]"},
        "refs": {},
        "partition-specs": [],
    }
    marker = "here"
    document[dice.choice([*document, "other"])] = marker
    text = json.dumps(document).replace(f'"{marker}"', _json(dice))
    return gzip.compress(text.encode(), 1) if dice.random() < 0.3 else text.encode()


def commit(dice: random.Random) -> bytes:
    """A commit of a Delta log, whose actions have some members that are others."""
    actions: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": {"id": "x", "schemaString": '{"type":"struct","fields":[]}', "configuration": {}}},
        {"add": {"path": "a", "size": 1, "stats": "{}", "partitionValues": {}, "dataChange": True}},
        {"commitInfo": {"operation": "WRITE"}},
        {"sidecar": {"path": "a.parquet", "sizeInBytes": 1}},
    ]
    action = dice.choice(actions)
    value = next(iter(action.values()))
    value[dice.choice([*value, "tags", "deletionVector"])] = "here"
    lines = [json.dumps(each).replace('"here"', _json(dice)) for each in actions]
    repeated = many(dice, 1 << 10) if sum(map(len, lines)) < 1_000 else 1
    return "\n".join([*lines, *[dice.choice(lines)] * repeated]).encode()


def _json(dice: random.Random) -> str:
    part = ",".join(dice.choice(_JSON) for _ in range(dice.randint(1, 3)))
    parts = ",".join([part] * min(many(dice, 1 << 17), (1 << 18) // len(part)))
    shape = dice.choice(["[{}]", '{{"a":[{}]}}', '"{}"', "[" * 80 + "{}" + "]" * 80])
    return shape.format(parts.replace('"', '\\"') if shape[0] == '"' else parts)
