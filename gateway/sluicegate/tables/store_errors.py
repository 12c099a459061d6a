"""What a table's store says when it fails, as errors of the gateway."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

from sluicegate.errors import ObjectMissing, StorageError
from sluicegate.kit.redaction import without_queries

_REFUSALS = (PermissionDeniedError, UnauthenticatedError, PermissionError)
# Refused listings and local files are generic errors to obstore, and so is a missing bucket.
_REFUSAL_TEXT = re.compile(r"status(?: code)?:? 40[13]\b|os error 13\b")
_MISSING_TEXT = re.compile(r"status(?: code)?:? 404\b")


@contextmanager
def store_errors(what: str, kind: str = "log") -> Iterator[None]:
    """Tell errors of obstore in words for recipients.

    Args:
        what: The object, for the log of the gateway.
        kind: What of the table it belongs to, for recipients.

    Raises:
        ObjectMissing: There is no such object.
        StorageError: The store does not answer or refuses.
    """
    try:
        yield
    except (BaseError, OSError) as error:
        detail, text = _private(what, error), str(error)
        if isinstance(error, FileNotFoundError) or _MISSING_TEXT.search(text):
            raise ObjectMissing(f"a file of the table's {kind} is missing", detail=detail) from None
        message = "the table's storage does not answer; try again later"
        if isinstance(error, _REFUSALS) or _REFUSAL_TEXT.search(text):
            message = "the gateway may not read the table's storage: its operator has to grant access"
        raise StorageError(message, detail=detail) from None


def _private(what: str, error: Exception) -> str:
    """The store's own words in one line, without query strings, which may hold signatures."""
    words, _, _ = str(error).partition("\n\nDebug source")
    return without_queries(f"{what}: {type(error).__name__}: {' '.join(words.split())}")
