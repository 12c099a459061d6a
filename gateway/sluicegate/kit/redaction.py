"""Words of others, as they may stand in the log."""

from __future__ import annotations

import re

_QUERY = re.compile(r"\?[^\s\"'<>)]*")


def without_queries(text: str) -> str:
    """A text whose URLs have lost their query strings, which may hold signatures."""
    return _QUERY.sub("?…", text)
