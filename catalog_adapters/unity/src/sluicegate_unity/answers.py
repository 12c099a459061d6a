"""What the catalog answers, and both shapes of its errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from sluicegate.api import HttpAnswer

_LONGEST_REASON: Final = 500


class Refused(Exception):
    """The catalog answered with an error that may mean something to who asked.

    Attributes:
        status: Of HTTP.
        code: The catalog's own, such as `TABLE_NOT_FOUND` or `NoSuchTableException`; `None` where
            something else than the catalog answered, or it has no such route.
        detail: What it said, for the log alone.
    """

    def __init__(self, status: int, code: str | None, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail

    @property
    def hides(self) -> bool:
        """There is no such thing, or the gateway may not see it: recipients cannot tell which."""
        return self.status in (403, 404) and self.code is not None

    @property
    def has_no_route(self) -> bool:
        """This version of the server does not know the route."""
        return self.status in (404, 405, 501) and self.code is None


def json_object(content: bytes) -> dict[str, Any] | None:
    """The JSON object in an answer; `None` where there is none."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def refusal(asked: str, answer: HttpAnswer, document: Mapping[str, Any] | None) -> Refused:
    """What an answer that is no success says.

    Args:
        asked: Method and path, for the log.
        answer: What came.
        document: Its content.
    """
    found = document or {}
    # The Delta API wraps its errors, but not those of authentication.
    inner = found.get("error")
    nested: Mapping[str, Any] = inner if isinstance(inner, dict) else {}
    code = found.get("error_code") or nested.get("type")
    message = found.get("message") or nested.get("message")
    known = code if isinstance(code, str) else None
    said = answer.redacted(f"{known or ''} {message if isinstance(message, str) else ''}")
    reason = " ".join(said.split())[:_LONGEST_REASON] or "no JSON object of a Unity Catalog"
    return Refused(answer.status, known, f"{asked}: {answer.status} {reason}")
