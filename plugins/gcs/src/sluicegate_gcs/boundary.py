"""Credential access boundaries: what a narrowed token may still do.

See "Downscope with Credential Access Boundaries" of Google's documentation: at most ten rules;
conditions are CEL expressions over an object's resource name and the prefix that a listing asks for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from sluicegate.api import UnsupportedOperation

MAX_RULES: Final = 10
"""As many rules as a boundary may have."""

_READING = "inRole:roles/storage.objectViewer"
_UNSAYABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def boundary_of(bucket: str, prefixes: Sequence[str]) -> dict[str, Any]:
    """The boundary that leaves only reading and listing below some prefixes of a bucket.

    Args:
        bucket: The bucket.
        prefixes: Key prefixes, each empty (all of the bucket) or with a slash at its end.

    Raises:
        UnsupportedOperation: They are too many, or a name cannot be said in a condition.
    """
    outermost = _outermost(prefixes)
    if len(outermost) > MAX_RULES:
        raise UnsupportedOperation(
            f"the table lies in {len(outermost)} directories, and Google's credentials can be limited "
            f"to {MAX_RULES}; read it by 'url' access"
        )
    rules = [_rule(bucket, prefix) for prefix in outermost]
    return {"accessBoundary": {"accessBoundaryRules": rules}}


def _outermost(prefixes: Sequence[str]) -> list[str]:
    """The prefixes that lie below no other."""
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
    """A string of CEL."""
    if _UNSAYABLE.search(text):
        raise UnsupportedOperation(
            "the name of the table's directory has control characters, to which Google's credentials "
            "cannot be limited; read it by 'url' access"
        )
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
