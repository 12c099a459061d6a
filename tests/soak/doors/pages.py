"""What is public: documents, readiness, and the pages of the console if there is one."""

from __future__ import annotations

from soak.visitor import Operation, Visitor


async def public(visitor: Visitor) -> None:
    """Documents that need no token."""
    for path in ("/readyz", "/healthz", "/delta-sharing/openapi.json", "/activate/style.css"):
        await visitor.get("public", path, token="")
    if (port := visitor.site.metrics_port) is not None:
        await visitor.get("metrics", f"http://127.0.0.1:{port}/metrics", token="")


OPERATIONS = (Operation("public", 1, public),)
