"""Commits to a catalog: what is required, and what changes (Iceberg's REST catalog specification)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from sluicegate_spark.conversion.plan import Plan

Action = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a table.

    Attributes:
        schema_id: Of the schema that counts from then on.
        schema_changes: Updates that make it so.
    """

    requirements: tuple[Action, ...]
    schema_id: int
    schema_changes: tuple[Action, ...]

    def updates(self, properties: Mapping[str, str], snapshot: Mapping[str, Any]) -> list[Action]:
        """All updates."""
        ref = {"ref-name": "main", "type": "branch", "snapshot-id": snapshot["snapshot-id"]}
        return [
            *self.schema_changes,
            {"action": "set-properties", "updates": dict(properties)},
            {"action": "add-snapshot", "snapshot": {**snapshot, "schema-id": self.schema_id}},
            {"action": "set-snapshot-ref", **ref},
        ]


def creation(plan: Plan, location: str) -> Commit:
    """The commit that makes a table in a directory."""
    changes: tuple[Action, ...] = (
        {"action": "assign-uuid", "uuid": str(uuid4())},
        {"action": "upgrade-format-version", "format-version": 2},
        _add_schema(plan, 0),
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": {"spec-id": 0, "fields": plan.layout(0).spec}},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": location},
    )
    return Commit(({"type": "assert-create"},), 0, changes)


def advance(plan: Plan, shown: Mapping[str, Any]) -> Commit:
    """The commit that brings a table up to date, unless somebody else changed it meanwhile."""
    snapshot_id = shown.get("current-snapshot-id")
    requirements: tuple[Action, ...] = (
        {"type": "assert-table-uuid", "uuid": shown["table-uuid"]},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": snapshot_id},
    )
    schemas = {each["schema-id"]: each for each in shown["schemas"]}
    current = shown["current-schema-id"]
    wanted = plan.columns.schema["fields"]
    if schemas[current]["fields"] == wanted:
        return Commit(requirements, current, ())
    # A schema that was there before keeps its id.
    same = (id_ for id_, each in schemas.items() if each["fields"] == wanted)
    id_ = next(same, max(schemas) + 1)
    changes: tuple[Action, ...] = (
        _add_schema(plan, id_),
        {"action": "set-current-schema", "schema-id": -1},
    )
    return Commit(requirements, id_, changes)


def _add_schema(plan: Plan, id_: int) -> Action:
    schema = {**plan.columns.schema, "schema-id": id_}
    return {"action": "add-schema", "schema": schema, "last-column-id": plan.columns.last_id}
