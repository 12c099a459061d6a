"""Query parameters and bodies of requests, checked: a wrong one is a 400 that says which and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from sluicegate.clock import ms_of, parse_time
from sluicegate.errors import InvalidRequest, MalformedRequest

MAX_RESULTS = 500
_INT64 = 2**63


def integer(name: str, value: object, *, low: int = 0, high: int = _INT64 - 1) -> int | None:
    """An optional whole number, from a query string or from JSON.

    Raises:
        InvalidRequest: It is no whole number, or not within `low` and `high`.
    """
    if value is None:
        return None
    number = _whole(value)
    if number is None:
        raise InvalidRequest(f"{name} must be a whole number")
    if not low <= number <= high:
        raise InvalidRequest(f"{name} must be between {low} and {high}")
    return number


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and len(value) <= 20 and value.isascii() and value.lstrip("-").isdigit():
        try:
            return int(value)
        except ValueError:
            return None
    return None


def boolean(name: str, value: object) -> bool:
    """An optional boolean; clients send `true`, `True` or a JSON boolean. Missing is false."""
    if value is None:
        return False
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise InvalidRequest(f"{name} must be true or false")


def text(name: str, value: object) -> str | None:
    """An optional string; an empty one counts as missing."""
    if value is None or isinstance(value, str):
        return value or None
    raise InvalidRequest(f"{name} must be a string")


def timestamp(name: str, value: object) -> int | None:
    """An optional ISO 8601 time with an offset, as epoch milliseconds ("Timestamp Format")."""
    spelled = text(name, value)
    if spelled is None:
        return None
    # "+" arrives as a space from clients that do not encode it in a query string.
    try:
        return ms_of(parse_time(spelled.replace(" ", "+") if "T" in spelled else spelled))
    except ValueError:
        raise InvalidRequest(
            f"{name} must be an ISO 8601 time with an offset, such as 2022-01-01T00:00:00Z"
        ) from None


def at_most_one(values: Mapping[str, object]) -> None:
    """Refuse parameters that exclude each other."""
    given = [name for name, value in values.items() if value is not None]
    if len(given) > 1:
        raise InvalidRequest(f"only one of {', '.join(values)} can be given, not {' and '.join(given)}")


def json_object(body: bytes) -> dict[str, Any]:
    """The request body as an object; no body is an empty one.

    Raises:
        MalformedRequest: The body is not JSON, or not an object.
    """
    if not body.strip():
        return {}
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MalformedRequest(f"the body is not JSON: {error.msg} at character {error.pos}") from None
    if not isinstance(value, dict):
        raise MalformedRequest("the body must be a JSON object; send {} to ask without hints")
    return value
