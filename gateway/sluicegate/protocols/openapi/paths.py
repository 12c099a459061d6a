"""The paths of the Delta Sharing protocol, in the order of its section "REST APIs"."""

from __future__ import annotations

from sluicegate.protocols.openapi import hadoop_tokens
from sluicegate.protocols.openapi import parameters as given
from sluicegate.protocols.openapi.assets.paths import paths as asset_paths
from sluicegate.protocols.openapi.operations import ALWAYS, NAMED, SENT, item, operation
from sluicegate.protocols.openapi.responses import json_answer, lines_answer, version_answer
from sluicegate.protocols.openapi.schemas import Schema, text

_TABLE = "/shares/{share}/schemas/{schema}/tables/{table}"


def paths() -> dict[str, Schema]:
    """Path items, by paths relative to the protocol's prefix."""
    return {
        **_listings(),
        **_tables(),
        **_queries(),
        **_credentials(),
        **_hadoop(),
        **asset_paths(),
    }


def _listings() -> dict[str, Schema]:
    def pages(identity: str, summary: str, kind: str, errors: tuple[str, ...] = NAMED) -> Schema:
        ok = json_answer("One page.", f"{kind}Page")
        return {"get": operation(identity, summary, ok, parameters=given.paged(), errors=errors)}

    share = operation("getShare", "Get Share", json_answer("The share.", "ShareDetails"))
    return {
        "/shares": pages("listShares", "List Shares", "Share", ALWAYS),
        "/shares/{share}": item(given.SHARE, get=share),
        "/shares/{share}/schemas": item(
            given.SHARE, **pages("listSchemas", "List Schemas in a Share", "Schema")
        ),
        "/shares/{share}/schemas/{schema}/tables": item(
            given.SCHEMA, **pages("listTables", "List Tables in a Schema", "Table")
        ),
        "/shares/{share}/all-tables": item(
            given.SHARE, **pages("listAllTables", "List all Tables in a Share", "Table")
        ),
    }


def _tables() -> dict[str, Schema]:
    old = operation("queryTableVersionByHead", "Query Table Version (deprecated)", version_answer())
    return {
        _TABLE: item(
            given.TABLE,
            get=operation("getTable", "Get Table", json_answer("The table.", "TableDetails")),
            head={**old, "deprecated": True},
        ),
        f"{_TABLE}/version": item(
            given.TABLE,
            get=operation(
                "queryTableVersion",
                "Query Table Version",
                version_answer(),
                parameters=given.starting(),
            ),
        ),
        f"{_TABLE}/metadata": item(
            given.TABLE,
            get=operation(
                "queryTableMetadata",
                "Query Table Metadata",
                lines_answer("Two lines: protocol and metadata.", "MetadataAnswer"),
                parameters=[*given.travel(), *given.form()],
            ),
        ),
    }


def _queries() -> dict[str, Schema]:
    ok = lines_answer("Protocol, metadata, files; or the state of the query.", "QueryAnswer")
    identity = given.in_path("queryId", text("The query id from the line with the pending status."))
    query = operation(
        "queryTable", "Read Data from a Table", ok, parameters=given.form(), errors=SENT, sends="Query"
    )
    info = operation(
        "getQueryInfo", "Get Query Info", ok, parameters=given.form(), errors=SENT, sends="Poll"
    )
    queries = item(given.TABLE, post=info)
    queries["parameters"].append(identity)
    changes = operation(
        "queryTableChanges",
        "Read Change Data Feed from a Table",
        lines_answer("Protocol, metadata, changed files.", "ChangesAnswer"),
        parameters=[*given.changes(), *given.form()],
    )
    return {
        f"{_TABLE}/query": item(given.TABLE, post=query),
        f"{_TABLE}/changes": item(given.TABLE, get=changes),
        f"{_TABLE}/queries/{{queryId}}": queries,
    }


def _credentials() -> dict[str, Schema]:
    generate = operation(
        "generateTemporaryTableCredential",
        "Generate Temporary Table Credential",
        json_answer("Credentials for one directory of the table.", "TemporaryTableCredentials"),
        errors=SENT,
        sends="CredentialsRequest",
    )
    return {f"{_TABLE}/temporary-table-credentials": item(given.TABLE, post=generate)}


def _hadoop() -> dict[str, Schema]:
    issue = operation(
        "issueHadoopDelegationToken",
        "Issue Hadoop Delegation Tokens",
        hadoop_tokens.answer(),
        errors=SENT,
        sends="HadoopTokenRequest",
    )
    return {f"{_TABLE}/hadoop-delegation-token": item(given.TABLE, post=issue)}
