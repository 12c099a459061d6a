"""Validates the URLs of services in the configuration, and redacts URLs for the log."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_QUERY: Final = re.compile(r"\?[^\s\"'<>)]*")


def canonical_endpoint_url(endpoint: str, example: str, *, with_path: bool = False) -> str:
    """Normalize a URL: scheme and host in lower case, no default port, no trailing slash.

    Args:
        endpoint: The configured URL.
        example: A valid URL for the error message.
        with_path: Whether the URL may have a path.

    Raises:
        ValueError: It is not an `http` or `https` URL, or has more than scheme, host, port, and, if
            allowed, path.
    """
    parts = urlsplit(endpoint)
    scheme, host, port = parts.scheme, parts.hostname, parts.port
    path = parts.path.rstrip("/")
    if scheme not in _DEFAULT_PORTS or not host:
        raise ValueError(f"must be a URL such as {example}")
    if (path and not with_path) or parts.query or parts.fragment or parts.username is not None:
        raise ValueError(
            f"must hold only scheme, host{', port and path' if with_path else ' and port'}"
        )
    host = f"[{host}]" if ":" in host else host
    port_part = "" if port in (None, _DEFAULT_PORTS[scheme]) else f":{port}"
    return f"{scheme}://{host}{port_part}{path}"


def without_queries(text: str) -> str:
    """Return a text without the query strings of URLs, which may contain signatures."""
    return _QUERY.sub("?…", text)
