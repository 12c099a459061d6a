"""Endpoints for tables that clients read file by file: planning of scans, and signing of requests."""

from __future__ import annotations

from sluicegate.protocols.openapi.iceberg.operations import DONE, TABLE, get, item, operation
from sluicegate.protocols.openapi.responses import json_answer
from sluicegate.protocols.openapi.schemas import (
    Schema,
    choice,
    flag,
    many,
    mapping,
    record,
    schema_ref,
    text,
    whole,
)

_OF_TABLE = ("share", "namespace", "table")


def paths() -> dict[str, Schema]:
    """Path items, by paths relative to the catalog's `uri`."""
    planned = get("icebergFetchPlanningResult", "fetchPlanningResult", "IcebergPlan")
    cancelled = operation("icebergCancelPlanning", "cancelPlanning", DONE)
    return {
        f"{TABLE}/plan": item(*_OF_TABLE, post=_post("planTableScan", "Scan", "Plan")),
        f"{TABLE}/plan/{{plan_id}}": item(*_OF_TABLE, "plan_id", get=planned, delete=cancelled),
        f"{TABLE}/tasks": item(*_OF_TABLE, post=_post("fetchScanTasks", "PlanTask", "Tasks")),
        f"{TABLE}/sign": item(*_OF_TABLE, post=_post("signRequest", "Request", "SignedRequest")),
    }


def schemas() -> dict[str, Schema]:
    """The requests and responses of these endpoints."""
    expression: Schema = {"description": "An expression, as defined by the Iceberg specification."}
    headers = mapping(many(text("A value."), "Values."), "Headers, by name.")
    return {
        "IcebergScan": record(
            "PlanTableScanRequest: what a scan reads.",
            {},
            {
                "snapshot-id": whole("The snapshot. Default: the latest one."),
                "start-snapshot-id": whole("With `end-snapshot-id`: what was appended after this one."),
                "end-snapshot-id": whole("The last snapshot of an incremental scan."),
                "select": many(text("A column."), "The columns that are read."),
                "filter": expression,
                "case-sensitive": flag("Whether names of columns are case-sensitive. Default: true.")
                | {"default": True},
                "use-snapshot-schema": flag("Whether names are those of the snapshot's schema."),
                "stats-fields": many(text("A column."), "The columns to return statistics of."),
                "min-rows-requested": whole("Files beyond this number of rows can be omitted."),
            },
        ),
        "IcebergPlan": record(
            "A completed plan.",
            {"status": choice("The state.", "completed")},
            {"plan-id": text("Returns the same plan again."), **_tasks()},
        ),
        "IcebergPlanTask": record(
            "FetchScanTasksRequest.", {"plan-task": text("A part of a plan, exactly as returned.")}
        ),
        "IcebergTasks": record("FetchScanTasksResult.", {}, _tasks()),
        "IcebergRequest": record(
            "RemoteSignRequest: the request to the store that the client wants to send.",
            {
                "region": text("Ignored."),
                "uri": text("The URL."),
                "method": choice("The method.", "GET", "HEAD"),
                "headers": headers,
            },
            {
                "properties": mapping(text("A value."), "Ignored."),
                "body": text("Must be empty."),
                "provider": text("Ignored."),
            },
        ),
        "IcebergSignedRequest": record(
            "RemoteSignResult: the request to send instead.",
            {"uri": text("The URL."), "headers": headers},
        ),
    }


def _tasks() -> dict[str, Schema]:
    """The members that plans and their parts have in common."""
    task = mapping({}, "A file with its deletes and the rest of the filter.")
    return {
        "plan-tasks": many(text("A part."), "More parts of the plan, to be requested one by one."),
        "file-scan-tasks": many(task, "The files."),
        "delete-files": many(mapping({}, "A delete file."), "The delete files of the files."),
    }


def _post(summary: str, body: str, answer: str) -> Schema:
    identity = f"iceberg{summary[0].upper()}{summary[1:]}"
    described = operation(identity, summary, {"200": json_answer("OK.", f"Iceberg{answer}")})
    content = {"application/json": {"schema": schema_ref(f"Iceberg{body}")}}
    return {**described, "requestBody": {"required": True, "content": content}}
