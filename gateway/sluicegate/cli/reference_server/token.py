"""Checks the bearer token of the reference server."""

from __future__ import annotations

from sluicegate.access.recipients.imported_tokens import is_acceptable, is_guessable
from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.reference_server.notes import Notes
from sluicegate.cli.reference_server.read import ReferenceConfig
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
