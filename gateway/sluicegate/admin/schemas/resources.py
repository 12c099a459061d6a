"""Schemas of the responses of the Admin API that are not those of a shares file."""

from __future__ import annotations

from sluicegate.admin.schemas.operations import listing as _listing
from sluicegate.admin.schemas.operations import operations, or_null
from sluicegate.admin.schemas.recipients import of_recipients
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


def schemas() -> dict[str, Schema]:
    """The schemas, by name."""
    return {
        "Share": _resource("ShareEntry"),
        "Schema": _resource("SchemaEntry"),
        "Table": _resource("TableEntry"),
        "Recipient": _resource("RecipientEntry"),
        "Shares": _listing(
            record(
                "A share.",
                {
                    "name": text("Its name."),
                    "display_name": or_null("string", "Shown instead of the name."),
                    "comment": or_null("string", "For recipients."),
                    "schemas": many(text("A name."), "Names of its schemas."),
                    "tables": whole("Number of tables that are declared one by one."),
                    "assets": whole("Number of other assets that are declared one by one."),
                    "from": many(
                        record(
                            "A catalog, or a schema of one, that is shared entirely.",
                            {
                                "catalog": text("Name of the catalog."),
                                "schema": or_null("string", "Name of the schema."),
                                "kinds": many(text("A kind."), "What is shared."),
                            },
                        ),
                        "What is shared entirely.",
                    ),
                    "recipients": many(text("A name."), "The recipients that can read it."),
                },
            )
        ),
        "ShareDetails": _resource(
            "ShareEntry",
            {"id": text("Its id."), "recipients": many(text("A name."), "Who can read it.")},
        ),
        "SharesFile": record(
            "A shares file, without keys that have their default values.",
            {},
            {
                "shares": mapping(schema_ref("AnyShare"), "Shares, by name."),
                "recipients": mapping(schema_ref("AnyRecipient"), "Recipients, by name."),
            },
        ),
        "AnyShare": {"type": "object", "description": "As `ShareEntry`."},
        "AnyRecipient": {"type": "object", "description": "As `RecipientEntry`."},
        "Grant": record("A grant.", {"recipient": text("The recipient."), "share": text("The share.")}),
        "Grants": _listing(schema_ref("Grant")),
        "Recipients": _listing(schema_ref("Recipient")),
        **of_recipients(),
        "IssuedCredential": record(
            "Either `activation_url` or `profile`, which are shown once.",
            {
                "recipient": text("Name of the recipient."),
                "expires_at": instant("When the link or the credential expires."),
            },
            {
                "activation_url": text("The link to send to the recipient.", format="uri"),
                "profile": mapping({}, "The profile with the secret."),
            },
        ),
        "Revoked": record("What ended.", {"ended": whole("Number of credentials that were valid.")}),
        **operations(),
        "Admins": _listing(_admin()),
        "NewAdminToken": {
            **_admin(),
            "required": [*_admin()["required"], "token"],
            "properties": {**_admin()["properties"], "token": text("The token, which is shown once.")},
        },
        "Me": record(
            "You.",
            {
                "name": text("Your name."),
                "role": _role(),
                "shares": _shares(),
                "method": choice("How you authenticated.", "token", "oidc"),
                "expires_at": instant("When your token expires."),
                "version": text("Version of the gateway."),
            },
        ),
        "Difference": record(
            "Changes of a shares file.",
            {
                "applied": flag("Whether the changes were made."),
                "changes": many(
                    record(
                        "A change.",
                        {
                            "action": choice("What changes.", "add", "change", "remove"),
                            "kind": text("`share`, `schema`, `table`, `recipient`, `grant`, …"),
                            "name": many(text("A name."), "Names from the outermost."),
                            "fields": mapping(
                                record(
                                    "A field.",
                                    {"before": {}, "after": {}},
                                ),
                                "What changes, by the keys of a shares file.",
                            ),
                        },
                    ),
                    "The changes.",
                ),
                "untouched": many(
                    record(
                        "A share or recipient.",
                        {
                            "kind": text("`share` or `recipient`."),
                            "name": many(text("A name."), "Its name."),
                        },
                    ),
                    "What the file does not contain, and stays unchanged.",
                ),
                "warnings": many(
                    record(
                        "A source that recipients cannot read now.",
                        {
                            "location": many(
                                {"type": ["string", "integer"]}, "Its location in the shares file."
                            ),
                            "message": text("The reason."),
                        },
                    ),
                    "With `check_sources`, what the catalogs report.",
                ),
                "removals": whole("Number of entries that are removed."),
                "text": many(
                    text("A line."), "The changes for people, as `sluicegate apply` shows them."
                ),
            },
        ),
    }


def _resource(model: str, more: dict[str, Schema] | None = None) -> Schema:
    """A resource: its model, with values that have defaults left out, and its name."""
    name = {"name": text("Its name. It must be the one in the path, if a request has it.")}
    return {"description": f"`{model}` with its name.", **record("", name | (more or {}))}


def _admin() -> Schema:
    return record(
        "An administrator.",
        {
            "name": text("Its name."),
            "role": _role(),
            "shares": _shares(),
            "created_at": instant("When it was created."),
            "expires_at": instant("When its token expires."),
        },
    )


def _role() -> Schema:
    return choice("The role.", "viewer", "admin", "owner")


def _shares() -> Schema:
    return {
        "type": ["array", "null"],
        "items": {"type": "string"},
        "description": "The only shares that it manages; null for all.",
    }
