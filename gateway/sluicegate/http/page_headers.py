"""The headers of HTML pages, which load nothing from elsewhere and are stored nowhere."""

from __future__ import annotations

from collections.abc import Mapping

from sluicegate.http.responses import NOT_STORED

_POLICY = {
    "default-src": "'none'",
    "style-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}


def page_headers(*, referrer: str = "no-referrer", **sources: str) -> Mapping[str, str]:
    """The headers of a page.

    Args:
        referrer: The referrer policy.
        sources: More directives of the content security policy, such as `img_src`.
    """
    directives = _POLICY | {name.replace("_", "-"): value for name, value in sources.items()}
    return {
        **NOT_STORED,
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in directives.items()),
        "Referrer-Policy": referrer,
        "X-Content-Type-Options": "nosniff",
        "X-Robots-Tag": "noindex, nofollow",
    }
