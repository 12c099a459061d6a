"""The style sheet, whose address contains a hash of its content, so that browsers can keep it."""

from __future__ import annotations

import hashlib
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from sluicegate.api.errors import NotFound

_YEAR = "public, max-age=31536000, immutable"


class StyleSheet:
    """The style sheet of all pages."""

    def __init__(self) -> None:
        self._content = (files("sluicegate.console") / "static" / "style.css").read_bytes()
        self._hash = hashlib.sha256(self._content).hexdigest()[:16]

    @property
    def names(self) -> tuple[str, str]:
        """The parts of its path."""
        return self._hash, "style.css"

    async def serve(self, request: Request) -> Response:
        """The style sheet.

        Raises:
            NotFound: The address is that of another version.
        """
        if request.path_params["hash"] != self._hash:
            raise NotFound("there is no such version of the style sheet")
        headers = {"Cache-Control": _YEAR, "X-Content-Type-Options": "nosniff"}
        return Response(self._content, headers=headers, media_type="text/css")
