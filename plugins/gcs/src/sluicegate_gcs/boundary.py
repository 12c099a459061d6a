"""Credential access boundaries, which limit the permissions of a downscoped token.

See "Downscope with Credential Access Boundaries" of the Google Cloud documentation: at most ten
rules; conditions are CEL expressions over an object's resource name and the requested prefix of a
listing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from sluicegate.api import UnsupportedOperation

MAX_RULES: Final = 10
"""Maximum number of rules in a boundary."""

_READING = "inRole:roles/storage.objectViewer"
_NOT_IN_CONDITIONS = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def boundary_of(bucket: str, prefixes: Sequence[str]) -> dict[str, Any]:
    """Return a boundary that permits only reading and listing below some prefixes of a bucket."""
    outermost = _outermost(prefixes)
    if len(outermost) > MAX_RULES:
        raise UnsupportedOperation(
            f"the table has files in {len(outermost)} directories, but Google's credentials can be "
            f"limited to at most {MAX_RULES}; read the table with 'url' access"
        )
    rules = [_rule(bucket, prefix) for prefix in outermost]
    return {"accessBoundary": {"accessBoundaryRules": rules}}


def _outermost(prefixes: Sequence[str]) -> list[str]:
    """Return the prefixes that are not below another one."""
    kept: list[str] = []
    for prefix in sorted(set(prefixes)):
        if not any(prefix.startswith(outer) for outer in kept):
            kept.append(prefix)
    return kept


def _rule(bucket: str, prefix: str) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "availableResource": f"//storage.googleapis.com/projects/_/buckets/{bucket}",
        "availablePermissions": [_READING],
    }
    if prefix:
        rule["availabilityCondition"] = {"expression": _condition(bucket, prefix)}
    return rule


def _condition(bucket: str, prefix: str) -> str:
    objects = _literal(f"projects/_/buckets/{bucket}/objects/{prefix}")
    listed = "api.getAttribute('storage.googleapis.com/objectListPrefix', '')"
    return f"resource.name.startsWith({objects}) || {listed}.startsWith({_literal(prefix)})"


def _literal(text: str) -> str:
    """Return a CEL string literal."""
    if _NOT_IN_CONDITIONS.search(text):
        raise UnsupportedOperation(
            "the name of the table's directory contains control characters, so Google's credentials "
            "cannot be limited to it; read the table with 'url' access"
        )
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
