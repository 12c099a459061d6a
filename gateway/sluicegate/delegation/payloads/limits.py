"""Limits a payload's JSON before it is parsed, because building its objects is expensive."""

from __future__ import annotations

import re

from sluicegate.api.errors import MalformedRequest

MOST_LEVELS = 100  # nested types of a table's schema take three or four levels each
_BYTES_OF_MEMBER = 10  # minimum; members of metadata have some 30 bytes
_FEWEST_MEMBERS = 100_000
# Skips strings, even unterminated ones. Possessive, so that each byte is read only once.
_TOKENS = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?|[\[{]|[\]}]', re.DOTALL)


def check_shape(body: bytes, longest: int) -> None:
    """Reject JSON that is deeply nested or has too many members."""
    most = max(_FEWEST_MEMBERS, longest // _BYTES_OF_MEMBER)
    # Commas in strings are also counted, so the number is not exact.
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
