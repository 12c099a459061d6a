"""Schemas of listings (Delta Sharing protocol, "List Shares" and on)."""

from __future__ import annotations

from sluicegate.protocols.openapi.schemas import (
    Schema,
    choice,
    many,
    mapping,
    only,
    record,
    schema_ref,
    text,
)

NAME = r"^[^ /\x00-\x1f\x7f]+$"
NAME_WITHOUT_PERIOD = r"^[^ ./\x00-\x1f\x7f]+$"


def name(of: str) -> Schema:
    """A name ("Names"). Names of schemas and tables contain no period."""
    pattern = NAME if of == "share" else NAME_WITHOUT_PERIOD
    return text(
        f"Name of the {of}; it is case-insensitive.",
        minLength=1,
        maxLength=255,
        pattern=pattern,
    )


def identity(of: str) -> Schema:
    """An immutable id."""
    return text(f"Stays the same while the {of} exists.", format="uuid")


def schemas() -> dict[str, Schema]:
    """Shares, schemas, tables, and pages of them."""
    items = {"Share": _share(), "Schema": _schema(), "Table": _table()}
    return {
        **items,
        "TableDetails": {
            "allOf": [
                schema_ref("Table"),
                record(
                    "", {"format": text("Formats that the table can be read in, separated by commas.")}
                ),
            ],
            "description": "A table and its format.",
        },
        "ShareDetails": only("share", schema_ref("Share")),
        **{f"{kind}Page": page(kind) for kind in items},
    }


def _share() -> Schema:
    return record(
        "A share that was granted to the recipient.",
        {"name": name("share"), "id": identity("share")},
        {
            "displayName": text("A name to show instead.", maxLength=255),
            "comment": text("The provider's comment.", maxLength=65_536),
            "properties": mapping(text("A value."), "The provider's properties."),
        },
    )


def _schema() -> Schema:
    return record(
        "A schema of a share.",
        {"name": name("schema"), "share": name("share"), "id": identity("schema")},
    )


def _table() -> Schema:
    return record(
        "A table of a schema.",
        {
            "name": name("table"),
            "schema": name("schema"),
            "share": name("share"),
            "shareId": identity("share"),
            "id": identity("table"),
        },
        directory_access(),
    )


def directory_access() -> dict[str, Schema]:
    """Members for directory access, which tables and their metadata have if it is offered."""
    return {
        "accessModes": many(
            choice("A way to read the table.", "url", "dir"), "Missing if there is only `url`."
        ),
        "location": text("The root directory, which contains the log."),
        "auxiliaryLocations": many(
            text("A directory."), "Other directories that contain files of the table."
        ),
    }


def page(kind: str) -> Schema:
    """A page of items of a kind."""
    return record(
        "One page of a listing, sorted by name.",
        {"items": many(schema_ref(kind), "Can be empty even if there are more pages.")},
        {"nextPageToken": text("Send it as `pageToken` for the next page. Missing on the last page.")},
    )
