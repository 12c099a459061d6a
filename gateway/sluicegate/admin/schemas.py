"""Schemas of the responses of the Admin API that are not those of a shares file."""

from __future__ import annotations

from sluicegate.admin.operation_schemas import listing as _listing
from sluicegate.admin.operation_schemas import operations
from sluicegate.admin.operation_schemas import or_null as _or_null
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
                    "display_name": _or_null("string", "Shown instead of the name."),
                    "comment": _or_null("string", "For recipients."),
                    "recipients": whole("Number of recipients that can read it."),
                },
            )
        ),
        "Grants": _listing(
            record("A grant.", {"recipient": text("The recipient."), "share": text("The share.")})
        ),
        "Recipients": _listing(schema_ref("Recipient")),
        "Access": record(
            "The state of a recipient.",
            {
                "id": text("Its id."),
                "name": text("Its name."),
                "state": choice("Whether it has access.", "active", "revoked"),
                "created_at": instant("When it was created."),
                "revoked_at": _or_null("string", "When it was revoked."),
                "last_issued_at": _or_null("string", "When it last received URLs or credentials."),
                "activation_link": {"oneOf": [{"type": "null"}, _link()]},
                "credentials": many(_credential(), "Newest first, also those that have ended."),
            },
        ),
        "IssuedCredential": record(
            "Either `activation_url` or `profile`, which are shown once.",
            {"expires_at": instant("When the link or the credential expires.")},
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
                            "names": many(text("A name."), "Names from the outermost."),
                        },
                    ),
                    "The changes.",
                ),
                "text": many(
                    text("A line."), "The changes for people, as `sluicegate apply` shows them."
                ),
            },
        ),
    }


def _resource(model: str) -> Schema:
    """A resource: its model, with values that have defaults left out, and its name."""
    named = record("", {"name": text("Its name. It must be the one in the path, if a request has it.")})
    return {"description": f"`{model}` with its name.", **named}


def _link() -> Schema:
    return record(
        "The newest activation link, without its token.",
        {
            "state": choice("Whether it can be used.", "pending", "used", "expired", "withdrawn"),
            "expires_at": instant("When it expires."),
            "used_at": _or_null("string", "When it was used."),
        },
    )


def _credential() -> Schema:
    return record(
        "A token or an OAuth client.",
        {
            "id": text("Its id; for an OAuth client, the client id."),
            "kind": choice("Its kind.", "bearer", "oauth"),
            "state": choice("Whether it is valid.", "valid", "expired", "revoked"),
            "created_at": instant("When it was issued."),
            "expires_at": instant("When it expires."),
            "revoked_at": _or_null("string", "When it was revoked."),
        },
    )


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
