"""Bounds of a payload's JSON, checked on its bytes: building its objects is what costs."""

from __future__ import annotations

import re

from sluicegate.errors import MalformedRequest

MOST_LEVELS = 100  # nested types of a table's schema take three or four levels each
_BYTES_OF_MEMBER = 10  # members of metadata have some 30 bytes
_FEWEST_MEMBERS = 100_000
# Texts are passed over, also one without an end; possessive, so that no byte is looked at twice.
_TOKENS = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?|[\[{]|[\]}]', re.DOTALL)


def check_shape(body: bytes, longest: int) -> None:
    """Refuse JSON that is nested deeply or has very many members.

    Args:
        body: Not decoded yet; it need not be JSON.
        longest: Most bytes of a body. So many members are allowed as a body of that length has
            reason to have.

    Raises:
        MalformedRequest: It is nested more deeply than any payload, or has more members.
    """
    most = max(_FEWEST_MEMBERS, longest // _BYTES_OF_MEMBER)
    # Commas in texts count as well, so this is not the exact number.
    if body.count(b",") + body.count(b"[") + body.count(b"{") > most:
        raise MalformedRequest(f"the payload has more than {most:,} members")
    depth = 0
    for token in _TOKENS.finditer(body):
        first = token[0][:1]
        if first in b"[{":
            depth += 1
            if depth > MOST_LEVELS:
                raise MalformedRequest(f"the payload is nested more than {MOST_LEVELS} levels deep")
        elif first in b"]}":
            depth -= 1
