"""Schemas of the responses about the state of recipients, and about what they can read."""

from __future__ import annotations

from sluicegate.admin.schemas.operations import listing, or_null
from sluicegate.protocols.openapi.schemas import (
    Schema,
    choice,
    flag,
    instant,
    many,
    mapping,
    record,
    text,
    whole,
)


def of_recipients() -> dict[str, Schema]:
    """The schemas, by name."""
    return {
        "Access": record(
            "A recipient and its state, without secrets.",
            {
                **_common(),
                "state": choice("Whether it has access.", "active", "revoked"),
                "token_lifetime": or_null("integer", "Lifetime of its credentials in seconds."),
                "properties": mapping(text("A value."), "Its properties."),
                "last_revoked_at": or_null("string", "Its last revocation, even if it was restored."),
                "last_issued_at": or_null("string", "When it last received URLs or credentials."),
                "activation_link": {"oneOf": [{"type": "null"}, _link()]},
                "credentials": many(_credential(), "Newest first, also those that have ended."),
                "oidc": many(
                    record(
                        "Tokens that authenticate it.",
                        {
                            "issuer": text("The issuer."),
                            "claim": text("A claim."),
                            "values": many(text("A value."), "Values of the claim."),
                        },
                    ),
                    "Its identities at configured issuers.",
                ),
            },
        ),
        "AccessList": listing(
            record(
                "A recipient with its valid credentials.",
                {
                    **_common(),
                    "tokens": whole("Number of valid tokens and OAuth clients."),
                    "kinds": many(text("`bearer` or `oauth`."), "Their kinds."),
                    "expires_at": or_null("string", "When the last of them expires."),
                },
            )
        ),
        "EndedSessions": record(
            "What happened in each storage that vends.",
            {
                "items": many(
                    record(
                        "A storage.",
                        {
                            "storage": text("Its name."),
                            "ended": flag("Whether sessions were ended."),
                            "instructions": or_null("string", "What an administrator must do."),
                            "error": or_null("string", "Why sessions could not be ended."),
                            "supported": flag("Whether the storage can end sessions."),
                        },
                    ),
                    "The storages.",
                )
            },
        ),
        "Limits": listing(
            record(
                "The limits of a recipient; `null` for each that does not apply.",
                {
                    "recipient": text("Name of the recipient."),
                    "limits": record(
                        "Its limits.",
                        {
                            name: or_null("integer", about)
                            for name, about in (
                                ("requests_per_minute", "Requests in a minute."),
                                ("burst", "Requests at once."),
                                ("concurrent_requests", "Concurrent requests."),
                                ("files_per_day", "Data files in a day."),
                                ("bytes_per_day", "Bytes of data files in a day."),
                            )
                        },
                    ),
                    "day": text("The day (UTC)."),
                    "files": or_null("integer", "Files offered on this day, if they are counted."),
                    "bytes": or_null("integer", "Bytes offered on this day, if they are counted."),
                },
            )
        ),
        "Explanation": record(
            "Whether a recipient can read a table or asset, and why.",
            {
                "recipient": text("Name of the recipient."),
                "path": text("Name of the table or asset for recipients."),
                "kind": text("`table`, `volume`, `model` or `skill`."),
                "action": text("What is explained."),
                "allowed": flag("Whether it is possible now."),
                "steps": many(
                    record(
                        "A step of a decision.",
                        {
                            "name": text("What decides."),
                            "outcome": text("The decision of this step alone."),
                            "reason": text("The deciding element."),
                        },
                    ),
                    "In the order of a request.",
                ),
                "ways": many(
                    record(
                        "A way to read.",
                        {
                            "name": text("Its name."),
                            "open": flag("Whether a request succeeds."),
                            "status": whole("HTTP status of a request."),
                            "code": or_null("string", "Code of the error."),
                            "reason": text("How to use it, or the error."),
                        },
                    ),
                    "The ways; empty if they were left out.",
                ),
                "listed": or_null("boolean", "Whether listings of Delta Sharing show it."),
                "listed_in_iceberg": or_null("boolean", "Whether the Iceberg catalog lists it."),
            },
        ),
        "Readers": record(
            "The recipients that were granted the share of a table.",
            {
                "path": text("Name of the table or asset for recipients."),
                "kind": text("`table`, `volume`, `model` or `skill`."),
                "readers": many(
                    record(
                        "A recipient.",
                        {
                            "recipient": text("Its name."),
                            "allowed": or_null(
                                "boolean",
                                "Whether it can read the table now; null if you do not manage it.",
                            ),
                            "ways": many(text("A way."), "The ways that are open to it."),
                            "reason": text("What refuses or limits its access."),
                            "credentials": text("Its credentials."),
                        },
                    ),
                    "Sorted by name.",
                ),
            },
        ),
    }


def _common() -> dict[str, Schema]:
    return {
        "id": text("Its id."),
        "name": text("Its name."),
        "comment": or_null("string", "For people."),
        "shares": many(text("A name."), "The shares that it can read."),
        "allow_from": many(text("A network."), "Its networks; empty for all."),
        "created_at": instant("When it was created."),
        "revoked_at": or_null("string", "When it was revoked."),
    }


def _link() -> Schema:
    return record(
        "The newest activation link, without its token.",
        {
            "state": choice("Whether it can be used.", "pending", "used", "expired", "withdrawn"),
            "expires_at": instant("When it expires."),
            "used_at": or_null("string", "When it was used."),
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
            "limited": flag(
                "Whether an administrator of only some shares issued it. Then it ends when the "
                "recipient is granted a share that this administrator does not manage."
            ),
            "revoked_at": or_null("string", "When it was revoked."),
        },
    )
