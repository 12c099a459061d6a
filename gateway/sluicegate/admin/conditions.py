"""Entity tags and preconditions (RFC 9110, sections 8.8.3 and 13)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from sluicegate.api.errors import InvalidRequest, SluicegateError

_TAGS = re.compile(r'\s*(?:W/)?"[!#-~\x80-\xff]*"\s*(?:,\s*(?:W/)?"[!#-~\x80-\xff]*"\s*)*')
_TAG = re.compile(r'(W/)?("[^"]*")')


class PreconditionFailed(SluicegateError):
    """The resource is not in the state that the request requires (RFC 9110, section 15.5.13)."""

    status = 412
    code = "PRECONDITION_FAILED"


def entity_tag(content: Any) -> str:
    """The strong entity tag of a representation: a hash of its JSON."""
    text = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
    return f'"{hashlib.sha256(text).hexdigest()[:32]}"'


@dataclass(frozen=True, slots=True)
class Conditions:
    """The preconditions of a request.

    Attributes:
        match: Strong tags of `If-Match`, `("*",)` for any, or `None` without the header.
    """

    match: tuple[str, ...] | None = None
    none_match: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, headers: Mapping[str, str]) -> Conditions:
        """Read the headers."""
        return cls(
            _tags("If-Match", headers.get("if-match"), weak=False),
            _tags("If-None-Match", headers.get("if-none-match"), weak=True),
        )

    def check_write(self, current: Any | None) -> None:
        """Check that the current representation allows a change."""
        if self.match is not None and not _matches(self.match, current):
            raise PreconditionFailed(
                "the resource was changed or deleted since you read it: read it again, and repeat your "
                "change"
                if current is not None
                else "the resource does not exist, or was deleted since you read it"
            )
        if self.none_match is not None and _matches(self.none_match, current):
            raise PreconditionFailed("the resource exists already")

    def is_unchanged(self, current: Any) -> bool:
        """Whether the client of a GET has the current representation."""
        return self.none_match is not None and _matches(self.none_match, current)


NO_CONDITIONS = Conditions()
"""No preconditions."""


def _matches(tags: tuple[str, ...], current: Any | None) -> bool:
    return current is not None and ("*" in tags or entity_tag(current) in tags)


def _tags(header: str, value: str | None, *, weak: bool) -> tuple[str, ...] | None:
    if value is None:
        return None
    if value.strip() == "*":
        return ("*",)
    if not _TAGS.fullmatch(value):
        raise InvalidRequest(f'{header} must be * or a list of entity tags, such as "0a1b"')
    return tuple(tag for mark, tag in _TAG.findall(value) if weak or not mark)
