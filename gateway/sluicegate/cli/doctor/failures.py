"""Describes errors for operators, without secrets."""

from __future__ import annotations

import re

from sluicegate.api.clients.endpoints import without_queries
from sluicegate.api.errors import SluicegateError
from sluicegate.telemetry.redaction import redact

_LONGEST = 400
# Error responses of stores that speak the API of S3, and of Azure.
_CODE = re.compile(r"<Code>(\w{1,64})</Code>")
_MESSAGE = re.compile(r"<Message>([^<]{1,200})</Message>")


def failure_text(error: BaseException) -> str:
    """Return the reason in one line, without query strings and credentials."""
    from obstore.exceptions import BaseError

    if isinstance(error, SluicegateError):
        text = error.for_operators
    elif isinstance(error, BaseError):
        text = _of_store(str(error).partition("\n\nDebug source")[0])
    elif isinstance(error, OSError):
        text = error.strerror or type(error).__name__
    else:
        # Messages of errors that nobody expected can contain anything.
        text = f"unexpected {type(error).__name__}"
    return redact(without_queries(" ".join(text.split())))[:_LONGEST]


def _of_store(text: str) -> str:
    code, message = _CODE.search(text), _MESSAGE.search(text)
    if code is None:
        return text
    return f"{code[1]}: {message[1]}" if message else code[1]
