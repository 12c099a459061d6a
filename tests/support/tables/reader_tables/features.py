"""What a Delta table shows a reader in its log and its data files, feature by feature."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from support.tables.reader_tables.parquet_features import checkpoint_features, file_features


def features(table: Path) -> set[str]:
    """The features of the table in a folder."""
    log = table / "_delta_log"
    if not log.is_dir():
        inner = [path.parent for path in table.glob("*/_delta_log")]
        return {"folder of tables" if inner else "no log"}.union(*map(features, inner))
    commits = [_actions(path) for path in sorted(log.glob("*.json")) if path.stem.isdigit()]
    actions = [action for commit in commits for action in commit]
    return {
        *_of_the_log(log, len(commits)),
        *_of_the_commits(commits),
        *(found for kind, value in actions for found in _of_an_action(kind, value)),
        *_of_bounds(actions),
        *_of_data_files(table, [value for kind, value in actions if kind == "add"], actions),
    }


def _actions(commit: Path) -> list[tuple[str, dict[str, Any]]]:
    return [item for line in commit.read_text().splitlines() for item in json.loads(line).items()]


def _of_the_log(log: Path, commits: int) -> Iterator[str]:
    if commits > 10:
        yield "more than ten commits"
    if (log / "_last_checkpoint").exists():
        yield "_last_checkpoint"
    if any(log.glob("_sidecars/*.parquet")):
        yield "sidecars"
    for path in log.glob("[0-9]*.checkpoint.*"):
        parts = path.name.split(".")
        kinds = {3: "classic", 4: "v2", 5: "multi-part"}
        yield f"{kinds[len(parts)]} checkpoint in {path.suffix[1:]}"
        if int(parts[0]) < commits - 1:
            yield "commits after a checkpoint"
        if path.suffix == ".parquet":
            yield from checkpoint_features(path)


def _of_the_commits(commits: list[list[tuple[str, dict[str, Any]]]]) -> Iterator[str]:
    for kind in ("protocol", "metaData"):
        number = sum(kind == found for commit in commits for found, _ in commit)
        if number != 1:
            yield f"{'no' if not number else 'several'} {kind}"
    schemas = {
        key: {str(value.get(key)) for commit in commits for kind, value in commit if kind == "metaData"}
        for key in ("schemaString", "partitionColumns")
    }
    yield from (f"change of {key}" for key, values in schemas.items() if len(values) > 1)
    if commits and commits[0][0][0] == "commitInfo":
        yield "commitInfo comes first"
    changed = Counter(value["path"] for commit in commits for kind, value in commit if kind == "add")
    if any(number > 1 for number in changed.values()):
        yield "path added again"


def _of_an_action(kind: str, value: Mapping[str, Any]) -> Iterator[str]:
    yield f"action {kind}"
    if kind == "protocol":
        yield f"reader version {value['minReaderVersion']}"
        yield from (f"reader feature {name}" for name in value.get("readerFeatures") or ())
    if kind == "metaData":
        yield from _of_metadata(value)
    if kind in ("add", "remove"):
        yield from _of_a_file(kind, value)


def _of_metadata(metadata: Mapping[str, Any]) -> Iterator[str]:
    configuration = metadata.get("configuration") or {}
    yield from (f"property {name}" for name in configuration)
    if mode := configuration.get("delta.columnMapping.mode"):
        yield f"columns mapped by {mode}"
    if "schemaString" not in metadata:
        yield "metadata without a schema"
        return
    schema = json.loads(metadata["schemaString"])
    yield from (found for field in schema["fields"] for found in _of_type(field["type"]))
    kinds = {field["name"]: kind_of(field["type"]) for field in schema["fields"]}
    partitions = metadata["partitionColumns"]
    yield from (f"partitioned by {kinds[name]}" for name in partitions)
    if len(partitions) > 1:
        yield "partitioned by several columns"


def kind_of(kind: Any) -> str:
    """A Delta type without its parameters."""
    return str(kind["type"] if isinstance(kind, dict) else kind.partition("(")[0])


def _of_type(kind: Any) -> Iterator[str]:
    if not isinstance(kind, dict):
        yield f"type {kind_of(kind)}"
        return
    if kind["type"] == "struct":
        inner = [field["type"] for field in kind["fields"]]
        yield from (f"struct of {kind_of(part)}" for part in inner)
    elif kind["type"] == "array":
        inner = [kind["elementType"]]
        yield f"array of {kind_of(inner[0])}"
    else:
        inner = [kind["keyType"], kind["valueType"]]
        yield f"map of {kind_of(inner[0])} to {kind_of(inner[1])}"
    yield from (found for part in inner for found in _of_type(part))


def _of_a_file(kind: str, value: Mapping[str, Any]) -> Iterator[str]:
    path = value["path"]
    if path.startswith("/"):
        yield f"{kind} of an absolute path"
    if path.startswith("file:"):
        yield f"{kind} of a path with a scheme{' and slashes' if path.startswith('file://') else ''}"
    if unquote(path) != path:
        yield f"{kind} of an escaped path"
    if unquote(unquote(path)) != unquote(path):
        yield f"{kind} of a path escaped twice"
    values = (value.get("partitionValues") or {}).values()
    if None in values:
        yield f"{kind} with a null partition value"
    if value.get("deletionVector"):
        yield f"{kind} with a deletion vector of storage type {value['deletionVector']['storageType']}"
    if kind == "add":
        yield from _of_stats(value.get("stats"))


def _of_stats(text: str | None) -> Iterator[str]:
    stats = json.loads(text) if text else None
    if stats is None:
        yield "no statistics"
        return
    yield from (f"statistics with {name}" for name in stats)
    if "tightBounds" in stats:
        yield f"statistics with tightBounds {stats['tightBounds']}"
    for bounds in ("minValues", "maxValues", "nullCount"):
        if any(isinstance(value, dict) for value in stats.get(bounds, {}).values()):
            yield f"statistics with nested {bounds}"
    if "minValues" in stats and not stats["minValues"]:
        yield "statistics without bounds"


def _of_bounds(actions: list[tuple[str, dict[str, Any]]]) -> Iterator[str]:
    schemas = [value["schemaString"] for kind, value in actions if "schemaString" in value]
    fields = [field for schema in schemas for field in json.loads(schema)["fields"]]
    kinds = {_physical_name(field): kind_of(field["type"]) for field in fields}
    texts = [value["stats"] for kind, value in actions if kind == "add" and value.get("stats")]
    for stats in map(json.loads, texts):
        yield from (f"bounds of {kinds[name]}" for name in stats.get("minValues", ()) if name in kinds)


def _physical_name(field: Mapping[str, Any]) -> str:
    return str(field["metadata"].get("delta.columnMapping.physicalName", field["name"]))


def _of_data_files(
    table: Path, adds: list[dict[str, Any]], actions: list[tuple[str, dict[str, Any]]]
) -> Iterator[str]:
    present = [path for add in adds if (path := table / unquote(add["path"])).is_file()]
    if len(present) < len(adds):
        yield "data files that do not exist"
    if not adds:
        yield "no file"
    for path in present:
        yield from file_features(path)
