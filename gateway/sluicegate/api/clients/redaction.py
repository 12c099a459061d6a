"""Redacts text from other systems for the log."""

from __future__ import annotations

import re

_QUERY = re.compile(r"\?[^\s\"'<>)]*")


def without_queries(text: str) -> str:
    """Return a text without the query strings of URLs, which may contain signatures."""
    return _QUERY.sub("?…", text)
