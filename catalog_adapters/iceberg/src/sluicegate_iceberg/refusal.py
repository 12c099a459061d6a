"""What a catalog refuses, told by the type in Iceberg's error shape.

Source: Iceberg's REST catalog specification, `IcebergErrorResponse`.
"""

from __future__ import annotations

from typing import Any

import orjson

from sluicegate.api import HttpAnswer, Unavailable

_TEXT_LENGTH = 500
_LONGEST = 65_536  # bytes; no error is longer
_NOT_OFFERED = frozenset({404, 405, 406, 410, 501})
_DROPPED = frozenset(
    {"NoSuchTableException", "NoSuchNamespaceException", "NoSuchIcebergTableException"}
)


class Refused(Unavailable):
    """The catalog answered, and not what was asked; where nobody knows better, it is of no use now.

    Args:
        catalog: Its name in the configuration.
        url: What was asked.
        answer: What it answered.

    Attributes:
        http_status: Of the answer.
        kind: The error's type, or `None` where the answer has not Iceberg's error shape.
    """

    def __init__(self, catalog: str, url: str, answer: HttpAnswer) -> None:
        error = _error(answer.content)
        self.http_status = answer.status
        self.kind: str | None = error.get("type") if isinstance(error.get("type"), str) else None
        text = answer.redacted(str(error.get("message", "")))[:_TEXT_LENGTH]
        super().__init__(
            f"the catalog '{catalog}' does not answer the gateway as it should; try again later, or "
            "ask the gateway's operator",
            detail=f"{url}: {answer.status} {self.kind or 'without an Iceberg error'}: {text}",
        )

    @property
    def says_missing(self) -> bool:
        """There is no such thing, or its name is impossible, or the gateway may not see it."""
        return self.http_status in (400, 403, 404, 414) and self.kind is not None

    @property
    def says_not_offered(self) -> bool:
        """The catalog has no such address, as far as the status tells."""
        return self.http_status in _NOT_OFFERED

    @property
    def says_dropped(self) -> bool:
        """The table is not there: not merely the address that was asked."""
        return self.http_status == 404 and self.kind in _DROPPED


def _error(body: bytes) -> dict[str, Any]:
    if len(body) > _LONGEST:
        return {}
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    error = document.get("error") if isinstance(document, dict) else None
    return error if isinstance(error, dict) else {}
