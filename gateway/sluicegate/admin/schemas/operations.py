"""Schemas of the responses about catalogs, the ledger, the audit log, and tasks."""

from __future__ import annotations

from typing import get_args

from sluicegate.audit.records import ActorKind, Outcome
from sluicegate.protocols.openapi.schemas import (
    Schema,
    choice,
    flag,
    instant,
    many,
    mapping,
    record,
    schema_ref,
    text,
    whole,
)
from sluicegate.vending.entries import KINDS
from sluicegate.vending.usage.models import USAGE_BY

_OF_RECORDS = {
    "request_id": "Id of the request.",
    "actor": "Name of the sender.",
    "actor_id": "Id of the sender.",
    "method": "How the sender authenticated.",
    "address": "IP address of the sender.",
    "resource": "Name of what was requested.",
    "share": "Name of the share that contains it.",
    "rule": "What decided.",
}


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
        "Usage": {"anyOf": [schema_ref("OfferedUsage"), schema_ref("ReadUsage")]},
        "OfferedUsage": _usage("What recipients were offered.", "responses", _amounts(), _names()),
        "ReadUsage": _usage(
            "What recipients read.",
            "requests",
            _read_amounts(),
            _names_of_reads(),
            {"changed_at": instant("When the tables of usage were last written.")},
        ),
        "Audit": listing(
            record(
                "A decision, without secrets.",
                {
                    "chain": whole("Number of the hash chain; 0 for that of earlier versions."),
                    "seq": whole("Its number in the hash chain."),
                    "at": instant("When it was made."),
                    "actor_kind": choice("What kind of sender the request had.", *get_args(ActorKind)),
                    "action": text("The operation."),
                    "outcome": choice("The decision.", *get_args(Outcome)),
                    "issued": mapping({}, "What was issued: kind, files, expiry."),
                    "changes": many(text("A line."), "What was changed."),
                    "mac": text("Its MAC in the hash chain, hexadecimal."),
                },
                {name: or_null("string", about) for name, about in _OF_RECORDS.items()}
                | {"status": or_null("integer", "Status of the response.")},
            )
        ),
        "AuditHead": record(
            "Where the hash chains of the audit log start and end, each as `SEQ:MAC`.",
            {
                "chains": many(
                    record(
                        "A hash chain.",
                        {
                            "chain": whole("Its number; 0 for that of earlier versions."),
                            "head": text(
                                "The last record. Pass it to `sluicegate audit verify --expect`."
                            ),
                            "checkpoint": text("The last record that was deleted because of its age."),
                        },
                    ),
                    "All of them.",
                )
            },
        ),
        "Tasks": listing({"$ref": "#/components/schemas/Task"}),
        "Workers": listing(_worker()),
        "Schedules": listing({"$ref": "#/components/schemas/Schedule"}),
        "Schedule": record("A schedule of the delegation service.", *_schedule()),
        "Firing": record("A firing of a schedule.", *_firing()),
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
                "schedule": or_null("string", "Name of the schedule that submitted it."),
                "firing_id": or_null("string", "Id of the firing of the schedule."),
                "progress": {"type": ["object", "null"], "description": "Stage and number of files."},
                "versions": many({"type": "object"}, "Its history."),
                "result_extended": {
                    "type": ["string", "null"],
                    "description": "Details for operators.",
                },
            },
        ),
    }


def _worker() -> Schema:
    task = record(
        "A task.",
        {
            "task_id": text("Its id."),
            "task_type": text("Its operation."),
            "table": text("Name of its table."),
            "status": choice("Its state.", "ACQUIRING_RESOURCES", "RUNNING"),
            "attempt_count": whole("Number of the attempt."),
            "progress": or_null("object", "Stage and number of files."),
            "lease_acquired_ts": instant("When the worker took it."),
            "lease_expires_ts": instant("When other workers can take it over."),
            "lease_expired": flag("Whether they can already: the worker is lost."),
            "cancel_requested": flag("Whether the worker will stop it at its next heartbeat."),
        },
    )
    about = {"worker": text("Host, process and a random text."), "tasks": many(task, "Its tasks.")}
    return record("A worker that has tasks.", about)


def _schedule() -> tuple[dict[str, Schema], dict[str, Schema]]:
    firing = {"$ref": "#/components/schemas/Firing"}
    always = {
        "name": text("Its name."),
        "operation": text("Operation of its tasks."),
        "catalog": text("Catalog of its tables."),
        "tables": many(text("A name or pattern."), "Its tables."),
        "exclude": many(text("A name or pattern."), "Tables that it leaves out."),
        "realm": text("Realm of its tasks."),
        "cron": or_null("string", "Its cron expression."),
        "after": or_null("string", "Name of the schedule after which it fires."),
        "time_zone": text("Time zone of the cron expression and the window."),
        "enabled": flag("Whether it is enabled in the configuration."),
        "paused_at": or_null("string", "When it was paused."),
        "paused_by": or_null("string", "Who paused it."),
        "next_firing_at": or_null("string", "When it fires next."),
        "last_firing": {"anyOf": [firing, {"type": "null"}]},
    }
    return always, {"firings": many(firing, "The last firings, newest first.")}


def _firing() -> tuple[dict[str, Schema], dict[str, Schema]]:
    always = {
        "firing_id": text("Its id."),
        "schedule": text("Name of the schedule."),
        "fires_at": instant("The time of the cron expression, or of the request."),
        "parent_id": or_null("string", "Id of the firing of another schedule after which it happens."),
        "requested_by": or_null("string", "Who requested it; null for times of the cron expression."),
        "opened_at": instant("When a service recorded it."),
        "status": choice("Its state.", "SUBMITTING", "SUBMITTED", "SKIPPED", "FAILED"),
        "submitted": whole("Number of submitted tasks."),
        "busy": whole("Number of tables that had another unfinished task."),
        "message": or_null("string", "What is unusual."),
        "tasks": mapping(whole("Number of tasks."), "Its tasks by their states."),
    }
    return always, {}


def _left_out() -> Schema:
    return {
        "type": ["string", "null"],
        "description": "Why it is not shared if the entire catalog or schema is.",
    }


def or_null(kind: str, description: str) -> Schema:
    """A value of this kind, or null."""
    return {"type": [kind, "null"], "description": description}


def listing(items: Schema, more: dict[str, Schema] | None = None) -> Schema:
    """A page of a listing."""
    token = {"nextPageToken": text("The `pageToken` of the next page.")}
    return record("A page.", {"items": many(items, "The items.")}, token | (more or {}))


def _usage(
    about: str,
    first: str,
    amounts: dict[str, Schema],
    names: dict[str, Schema],
    more: dict[str, Schema] | None = None,
) -> Schema:
    items = f"Days from the oldest; others from the largest number of {first}."
    return record(
        about,
        {
            "by": choice("What each item is for.", *USAGE_BY),
            "since": text("The first day (UTC).", format="date"),
            "until": text("The last day.", format="date"),
            "items": many(record("A sum.", amounts, names), items),
            "total": record("The sum of all items, also of those left out.", amounts),
            "truncated": flag("Whether items were left out."),
            **(more or {}),
        },
    )


def _amounts() -> dict[str, Schema]:
    counted = "Bytes of the files, if limits of the recipient count them."
    return {
        "responses": whole("Responses that contained URLs, credentials or tokens."),
        "credentials": whole("Responses that contained credentials or tokens."),
        "files": whole("Presigned URLs."),
        "bytes": {"type": ["integer", "null"], "description": counted},
    }


def _names() -> dict[str, Schema]:
    kind = "Kind of asset that `table` names; null for a table."
    return {
        "day": text("The day (UTC).", format="date"),
        "recipient": text("Name of the recipient."),
        "share": text("Name of the share."),
        "schema": text("Name of the schema."),
        "table": text("Name of the table."),
        "asset": {"type": ["string", "null"], "description": kind},
    }


def _read_amounts() -> dict[str, Schema]:
    return {
        "requests": whole("Requests for objects."),
        "failed": whole("Requests with another status than 200 or 206."),
        "late": whole("Requests that were logged late."),
        "files": whole("Objects, counted once for each day, recipient and table."),
        "bytes": whole("Bytes of successful responses."),
    }


def _names_of_reads() -> dict[str, Schema]:
    unknown = "null for requests whose recipient is not known."
    return {
        "day": text("The day (UTC).", format="date"),
        "recipient": or_null("string", f"Name of the recipient; {unknown}"),
        "share": or_null("string", f"Name of the share; {unknown}"),
        "schema": or_null("string", f"Name of the schema; {unknown}"),
        "table": or_null("string", f"Name of the table; {unknown}"),
    }
