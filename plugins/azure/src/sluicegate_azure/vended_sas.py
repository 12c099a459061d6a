"""Shared access signatures from vendors: from a catalog, or from this plugin itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import parse_qs

from sluicegate.api import TemporaryCredentials

_READING = frozenset("rle")


@dataclass(frozen=True, slots=True)
class VendedSas:
    """A token with read access; `repr` shows no secret.

    Attributes:
        expires_at: Its expiry, epoch milliseconds.
    """

    token: str = field(repr=False)
    expires_at: int
    grants_more: bool


def parse_vended_sas(vended: TemporaryCredentials) -> VendedSas | None:
    """Return the token of vended credentials; `None` if they are incomplete, or have no expiry."""
    token = vended.secret.get("sas_token", "").removeprefix("?")
    fields = {name: values[0] for name, values in parse_qs(token).items()}
    ends = [end for end in (vended.expires_at, _end(fields.get("se"))) if end is not None]
    if "sig" not in fields or not ends:
        return None
    return VendedSas(token, min(ends), not set(fields.get("sp", "")) <= _READING)


def _end(expiry: str | None) -> int | None:
    """Return epoch milliseconds of a SAS's `se`, which is in UTC even without a zone."""
    try:
        moment = datetime.fromisoformat(expiry or "")
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)
