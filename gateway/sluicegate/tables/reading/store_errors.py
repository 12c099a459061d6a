"""Converts failures of a table's store into errors of the gateway."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

from sluicegate.api.clients.endpoints import without_queries
from sluicegate.api.errors import ObjectMissing, StorageDenied, StorageError

_REFUSALS = (PermissionDeniedError, UnauthenticatedError, PermissionError)
# obstore reports denied listings and local files as generic errors, and also a missing bucket.
_REFUSAL_TEXT = re.compile(r"status(?: code)?:? 40[13]\b|os error 13\b")
# The next request uses new credentials, or a corrected clock.
_TRANSIENT_TEXT = re.compile(r"ExpiredToken|TokenRefreshRequired|RequestTimeTooSkewed|RequestExpired")
_MISSING_TEXT = re.compile(r"status(?: code)?:? 404\b")


@contextmanager
def store_errors(what: str, kind: str = "log") -> Iterator[None]:
    """Convert obstore errors into errors for recipients."""
    try:
        yield
    except (BaseError, OSError) as error:
        detail, text = _private(what, error), str(error)
        if isinstance(error, FileNotFoundError) or _MISSING_TEXT.search(text):
            raise ObjectMissing(f"a file of the table's {kind} is missing", detail=detail) from None
        is_refused = isinstance(error, _REFUSALS) or _REFUSAL_TEXT.search(text) is not None
        if is_refused and not _TRANSIENT_TEXT.search(text):
            raise StorageDenied(
                "the gateway has no access to the table's storage: its operator must grant it",
                detail=detail,
            ) from None
        message = "the table's storage does not respond; try again later"
        raise StorageError(message, detail=detail) from None


def _private(what: str, error: Exception) -> str:
    """The store's message in one line, without query strings, which can contain signatures."""
    words, _, _ = str(error).partition("\n\nDebug source")
    return without_queries(f"{what}: {type(error).__name__}: {' '.join(words.split())}")
