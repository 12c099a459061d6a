"""Schemas of the responses about catalogs, the ledger, and tasks."""

from __future__ import annotations

from sluicegate.protocols.openapi.schemas import (
    Schema,
    choice,
    instant,
    many,
    mapping,
    record,
    text,
    whole,
)
from sluicegate.vending.entries import KINDS


def operations() -> dict[str, Schema]:
    """The schemas, by name."""
    reason = {"reason": text("A possible reason for an empty listing.")}
    return {
        "Catalogs": listing(
            record("A catalog.", {"name": text("Its name."), "type": text("Name of its plugin.")})
        ),
        "CatalogSchemas": listing(
            record("A schema.", {"name": text("Its name."), "left_out": _left_out()}), reason
        ),
        "CatalogAssets": listing(
            record(
                "A table or asset.",
                {
                    "name": text("Its name."),
                    "identifier": text("Its identifier for a shares file."),
                    "left_out": _left_out(),
                },
            ),
            reason,
        ),
        "PrunedTasks": record("What was deleted.", {"pruned": whole("Number of tasks.")}),
        "CatalogTables": listing(
            record(
                "A table.",
                {"name": text("Its name."), "table": text("The value of `table` in a shares file.")},
            ),
            reason,
        ),
        "Ledger": listing(
            record(
                "What a recipient received, without secrets.",
                {
                    "id": text("Id of the entry."),
                    "given_at": instant("When it was issued to the recipient."),
                    "issued_at": instant("When it was created; earlier if it was reused."),
                    "kind": choice("What was issued.", *KINDS),
                    "recipient": text("Name of the recipient."),
                    "share": text("Name of the share."),
                    "schema": text("Name of the schema."),
                    "table": text("Name of the table."),
                    "locations": many(text("A location."), "Directories that it gives access to."),
                },
                {"expires_at": {"type": ["string", "null"], "description": "When it expires."}},
            )
        ),
        "Tasks": listing({"$ref": "#/components/schemas/Task"}),
        "Task": record(
            "A task of the delegation service, without secrets.",
            {
                "task_id": text("Its id."),
                "task_type": text("Its operation."),
                "realm_id": text("Its realm."),
                "status": text("Its state."),
                "task_payload": mapping({}, "The request without its secrets."),
                "received_timestamp": instant("When it was submitted."),
            },
            {
                "progress": {"type": ["object", "null"], "description": "Stage and number of files."},
                "versions": many({"type": "object"}, "Its history."),
                "result_extended": {
                    "type": ["string", "null"],
                    "description": "Details for operators.",
                },
            },
        ),
    }


def _left_out() -> Schema:
    return {
        "type": ["string", "null"],
        "description": "Why it is not shared if the entire catalog or schema is.",
    }


def listing(items: Schema, more: dict[str, Schema] | None = None) -> Schema:
    """A page of a listing."""
    token = {"nextPageToken": text("The `pageToken` of the next page.")}
    return record("A page.", {"items": many(items, "The items.")}, token | (more or {}))
