"""Validates query parameters and bodies: an invalid one is a 400 that names it and the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from sluicegate._util.clock import ms_of, parse_time
from sluicegate.api.errors import InvalidRequest, MalformedRequest

MAX_RESULTS = 500
_INT64 = 2**63


def integer(name: str, value: object, *, low: int = 0, high: int = _INT64 - 1) -> int | None:
    """An optional integer, from a query string or from JSON."""
    if value is None:
        return None
    number = _whole(value)
    if number is None:
        raise InvalidRequest(f"{name} must be a whole number")
    if not low <= number <= high:
        raise InvalidRequest(f"{name} must be between {low} and {high}")
    return number


def hinted(name: str, value: object, *, high: int) -> int | None:
    """An optional integer that is a hint: capped at `high`, and ignored below zero."""
    number = _whole(int(value) if isinstance(value, float) and value.is_integer() else value)
    if number is None and value is not None:
        raise InvalidRequest(f"{name} must be a whole number")
    return None if number is None or number < 0 else min(number, high)


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
    """An optional boolean. Clients send `true`, `True` or a JSON boolean. Missing means false."""
    if value is None:
        return False
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise InvalidRequest(f"{name} must be true or false")


def text(name: str, value: object) -> str | None:
    """An optional string."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidRequest(f"{name} must be a string")
    if not value:
        raise InvalidRequest(f"{name} is empty: send a value, or leave {name} out")
    return value


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
    """Reject parameters that exclude each other."""
    given = [name for name, value in values.items() if value is not None]
    if len(given) > 1:
        raise InvalidRequest(f"only one of {', '.join(values)} can be given, not {' and '.join(given)}")


def json_object(body: bytes) -> dict[str, Any]:
    """The request body as an object. An empty body is an empty object."""
    if not body.strip():
        return {}
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MalformedRequest(f"the body is not JSON: {error.msg} at character {error.pos}") from None
    if not isinstance(value, dict):
        raise MalformedRequest("the body must be a JSON object, such as {}")
    return value
