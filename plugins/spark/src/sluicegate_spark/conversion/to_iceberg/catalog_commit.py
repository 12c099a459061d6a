"""Builds commits to a catalog: requirements and updates (Iceberg REST specification)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import uuid4

from sluicegate_spark.conversion.to_iceberg.manifests import FIRST_PARTITION_FIELD, Layout, spec_fields
from sluicegate_spark.conversion.to_iceberg.plan import Plan
from sluicegate_spark.conversion.to_iceberg.table_metadata import IcebergTableMetadata

Action = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit to a table."""

    requirements: tuple[Action, ...]
    schema_id: int
    layout: Layout
    changes: tuple[Action, ...]

    def updates(self, properties: Mapping[str, str], snapshot: Mapping[str, Any]) -> list[Action]:
        """Return all updates."""
        ref = {"ref-name": "main", "type": "branch", "snapshot-id": snapshot["snapshot-id"]}
        return [
            *self.changes,
            {"action": "set-properties", "updates": dict(properties)},
            {"action": "add-snapshot", "snapshot": {**snapshot, "schema-id": self.schema_id}},
            {"action": "set-snapshot-ref", **ref},
        ]


CREATE_REQUIREMENTS: tuple[Action, ...] = ({"type": "assert-create"},)


def creation_updates(plan: Plan, location: str, properties: Mapping[str, str]) -> list[Action]:
    """Return the updates that create a table without a snapshot. They require `CREATE_REQUIREMENTS`."""
    fields = spec_fields(plan.files.partition, count(FIRST_PARTITION_FIELD))
    return [
        {"action": "assign-uuid", "uuid": str(uuid4())},
        {"action": "upgrade-format-version", "format-version": 2},
        _add_schema(plan, 0),
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": {"spec-id": 0, "fields": fields}},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": location},
        {"action": "set-properties", "updates": dict(properties)},
    ]


def matches_plan(plan: Plan, table: IcebergTableMetadata) -> bool:
    """Return whether a new table has the planned columns and partitions, with the planned field ids."""
    return table.current_schema_id in table.schema_ids(
        plan.columns.schema["fields"]
    ) and table.spec.is_identity_of(plan.partition_sources)


def next_commit(plan: Plan, table: IcebergTableMetadata) -> Commit:
    """Return the commit that updates a table, and fails if someone else changed the table."""
    requirements: tuple[Action, ...] = (
        {"type": "assert-table-uuid", "uuid": table.table_uuid},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": table.current_snapshot_id},
        {"type": "assert-current-schema-id", "current-schema-id": table.current_schema_id},
        {"type": "assert-default-spec-id", "default-spec-id": table.default_spec_id},
    )
    schema_id, changes = _schema_changes(plan, table)
    location = plan.files.location
    if table.location != location:
        changes = (*changes, {"action": "set-location", "location": location})
    return Commit(requirements, schema_id, plan.layout(schema_id, table.spec), changes)


def _schema_changes(plan: Plan, table: IcebergTableMetadata) -> tuple[int, tuple[Action, ...]]:
    """Return the id of the planned schema, and the updates that make it current."""
    known = table.schema_ids(plan.columns.schema["fields"])
    if table.current_schema_id in known:
        return table.current_schema_id, ()
    # A schema that existed before keeps its id.
    id_ = known[0] if known else max(each.schema_id for each in table.schemas) + 1
    # By id: a catalog that assigns another id rejects the commit.
    current: Action = {"action": "set-current-schema", "schema-id": id_}
    return id_, (current,) if known else (_add_schema(plan, id_), current)


def _add_schema(plan: Plan, id_: int) -> Action:
    schema = {**plan.columns.schema, "schema-id": id_}
    return {"action": "add-schema", "schema": schema, "last-column-id": plan.columns.last_id}
