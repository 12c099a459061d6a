"""Removes secrets from all log records, whichever code logs them.

The gateway's own code never logs a secret, but libraries may: a client that logs the URL of a failed
request, for example. Text that looks like a secret is replaced, even if some of it isn't one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

REDACTED = "***"

_QUOTE = r"\\*[\"']"
_EQUALS = r"(?:=|%(?:25)*3D)"
_OPEN = rf"(?:b(?={_QUOTE}))?(?P<quote>{_QUOTE})?"
# A quoted value ends at its closing quote, or at the end of a truncated text.
_VALUE = r"(?(quote)(?:(?!(?P=quote)).)*|[^\s\"'\\&]+)"
_TOKEN = r"[\w.~+/=-]"  # noqa: S105  (a pattern: the characters of a token68, RFC 7235)
_PROSE = rf"(?:tokens?|auth|authentication|authorization|scheme)[.]?(?!{_TOKEN})|realm="
_KEY = (
    r"(?:x-(?:amz|goog|ms)-(?:signature|credential|security-token)"
    r"|(?:bearer|session|security|access|refresh|sas|oauth|auth|api|delegation)[-_. ]?token"
    r"|(?<![a-z])id[-_.]?token"
    r"|(?:secret|account|private|api|shared)[-_. ]?(?:access[-_. ]?)?key"
    r"|client[-_. ]?secret|password|passwd|pwd)"
)
_FIELD = re.compile(rf"{_KEY}|(?:^|[-_.])(?:authorization|cookie|secret|token)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Rule:
    """A pattern that is applied only to texts that contain one of its hints (in lower case).

    Most lines contain none, and then cost only a few substring searches.
    """

    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    replacement: str


def _rule(hints: str, pattern: str, replacement: str = rf"\1{REDACTED}") -> _Rule:
    return _Rule(tuple(hints.split()), re.compile(pattern, re.IGNORECASE | re.DOTALL), replacement)


_RULES = (
    _rule(
        "bearer",
        rf"\b(bearer(?:\s|%20|\+|:)+(?:tokens?[\s:='\"]+(?={_TOKEN}{{16}}))?)(?!{_PROSE}){_TOKEN}+",
    ),
    _rule(
        "authorization",
        rf"(authorization(?:{_QUOTE})?\s*[:=,]\s*{_OPEN})(?:[\w-]+\s+)?{_VALUE}",
    ),
    _rule(
        "signature credential token key secret passw pwd",
        rf"({_KEY}(?:{_QUOTE})?\s*(?:=>|[:,]|{_EQUALS})\s*{_OPEN}){_VALUE}",
    ),
    _rule(
        "sig= sig% signature credential token key",
        rf"((?<![a-z0-9])(?:sig|signature|credential|token|awsaccesskeyid){_EQUALS}{_OPEN}){_VALUE}",
    ),
    _rule("://", r"(://[^\s/:@\[\"']*:)(?!\d+(?:[/?#]|$))[^\s\"'\\]+(?=@)"),
    _rule("slg", rf"(\bslgs?_){_TOKEN}{{8,}}"),
    _rule("eyj", rf"(\beyJ)[\w-]+\.{_TOKEN}+"),
    _rule("key", r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?=-----END|\Z)"),
)
_HINTS = tuple(dict.fromkeys(hint for rule in _RULES for hint in rule.hints))


def is_suspicious(text: str) -> bool:
    """Whether a text may contain a secret. `False` is certain; `redact` decides in other cases."""
    lowered = text.lower()
    for hint in _HINTS:  # noqa: SIM110  (a generator would double the cost of every line)
        if hint in lowered:
            return True
    return False


def redact(text: str) -> str:
    """Return the text with every secret replaced by `***`.

    Secrets are the gateway's own tokens, bearer tokens and JWTs, signatures and credentials in the
    query strings of signed URLs (percent-encoded ones, too), passwords in URLs, private keys, and the
    values of keys that are named like a secret, however these are quoted.
    """
    if not is_suspicious(text):  # nearly all texts
        return text
    lowered = text.lower()
    for rule in _RULES:
        if any(hint in lowered for hint in rule.hints):
            text = rule.pattern.sub(rule.replacement, text)
    return text


def redact_value(value: object) -> object:
    """Return a value of a log record's field with its strings redacted, at any depth."""
    if isinstance(value, bool | int | float | None):
        return value
    if isinstance(value, Mapping):
        return redact_fields(value)
    if isinstance(value, list | tuple):
        return [redact_value(item) for item in value]
    return redact(str(value))


def redact_fields(fields: Mapping[str, object]) -> dict[str, object]:
    """Return fields with redacted strings. Fields that are named like a secret become `***`."""
    redacted = {}
    for key, value in fields.items():
        name, is_secret = _field(str(key))
        redacted[name] = REDACTED if is_secret else redact_value(value)
    return redacted


@lru_cache(maxsize=256)  # the fields of most lines are the same
def _field(key: str) -> tuple[str, bool]:
    """The redacted name of a field, and whether it is named like a secret."""
    return redact(key), _FIELD.search(key) is not None
