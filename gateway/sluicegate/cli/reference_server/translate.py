"""Translates a checked configuration of the reference server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sluicegate.access.recipients.imported_tokens import is_acceptable, is_guessable
from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.reference_server.notes import Notes
from sluicegate.cli.reference_server.read import ReferenceConfig
from sluicegate.cli.reference_server.settings import translate_settings
from sluicegate.cli.reference_server.shares import translate_shares
from sluicegate.config.secrets import world_readable

_KEY = ("authorization", "bearerToken")


def checked_token(source: ReferenceConfig, notes: Notes) -> str:
    """Return the token, and warn if it is easily guessed or read."""
    authorization = source.config.authorization
    if authorization is None:
        raise ConfigurationError(
            f"{source.document.path}: without 'authorization', everybody can read the tables of this "
            "server. The gateway has no anonymous access: add authorization.bearerToken to a copy of "
            "the file, with a new token (openssl rand -hex 32), import the copy, and send the "
            "recipients profiles with this token"
        )
    token = authorization.bearer_token.get_secret_value()
    if not is_acceptable(token):
        message = "expected 1 to 4096 visible ASCII characters; clients cannot send this token"
        raise ConfigurationError(source.document.problem(_KEY, message))
    if is_guessable(token):
        message = "the token is short or repetitive, so it can be guessed: rotate the recipient soon"
        notes.add("warning", _KEY, message)
    if world_readable(source.document.path):
        message = "every user of this machine can read the token in the file: chmod o-r"
        notes.add("warning", _KEY, message)
    return token


@dataclass(frozen=True, slots=True)
class Names:
    """Names that the source doesn't contain."""

    catalog: str
    recipient: str


@dataclass(frozen=True, slots=True)
class Translation:
    """The result."""

    settings: Mapping[str, Any]
    shares: Mapping[str, Any]
    notes: Notes
    token: str = field(repr=False)


def translate(
    source: ReferenceConfig, names: Names, *, public_url: str | None, partial: bool
) -> Translation:
    """Translate a configuration."""
    notes = Notes(source.document)
    token = checked_token(source, notes)
    found = translate_shares(source.config, names.catalog, notes)
    if (lost := notes.of("untranslatable")) and not partial:
        lines = [f"{source.document.path}:{note.line}: {note.key}: {note.message}" for note in lost]
        raise ConfigurationError("\n".join([*lines, "to leave these tables out, use --partial"]))
    settings = translate_settings(
        source.config, found.storages, notes, catalog=names.catalog, public_url=public_url
    )
    for location, hint in source.unknown:
        notes.add("dropped", location, f"the server does not know this key either{hint}")
    recipient = {"shares": sorted(found.shares), "comment": "Everybody with the imported token"}
    shares = {"shares": found.shares, "recipients": {names.recipient: recipient}}
    notes.add("translated", ("authorization",), f"recipient '{names.recipient}', with the same token")
    return Translation(settings, shares, notes, token)
