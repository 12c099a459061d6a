"""Files whose address contains a hash of their content, so that browsers can keep them."""

from __future__ import annotations

import hashlib
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from sluicegate.api.errors import NotFound

_YEAR = "public, max-age=31536000, immutable"
_TYPES = {"style.css": "text/css", "live.js": "text/javascript"}


class StaticFiles:
    """The style sheet and the script of all pages."""

    def __init__(self) -> None:
        folder = files("sluicegate.admin.console") / "static"
        self._contents = {name: (folder / name).read_bytes() for name in _TYPES}
        self._hashes = {
            name: hashlib.sha256(content).hexdigest()[:16] for name, content in self._contents.items()
        }

    def names(self, file: str) -> tuple[str, str]:
        """The parts of the path of a file."""
        return self._hashes[file], file

    async def serve(self, request: Request) -> Response:
        """A file."""
        name = request.path_params["file"]
        if self._hashes.get(name) != request.path_params["hash"]:
            raise NotFound("there is no such version of the file")
        headers = {"Cache-Control": _YEAR, "X-Content-Type-Options": "nosniff"}
        return Response(self._contents[name], headers=headers, media_type=_TYPES[name])
