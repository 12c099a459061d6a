"""Shared access signatures that someone else issued: a catalog's, or our own on their way back."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import parse_qs

from sluicegate.api import StorageError, TemporaryCredentials

_READING = frozenset("rle")


@dataclass(frozen=True, slots=True)
class GivenSas:
    """A token that reads; `repr` shows no secret.

    Attributes:
        token: Its query string, without a question mark.
        expires_at: When it ends, epoch milliseconds.
        grants_more: It may do something else than read and list.
    """

    token: str = field(repr=False)
    expires_at: int
    grants_more: bool


def given_sas(given: TemporaryCredentials) -> GivenSas:
    """The token of credentials that a vendor gave.

    Raises:
        StorageError: They are another cloud's, incomplete, or have no end.
    """
    token = given.secret.get("sas_token", "").removeprefix("?")
    fields = {name: values[0] for name, values in parse_qs(token).items()}
    ends = [end for end in (given.expires_at, _end(fields.get("se"))) if end is not None]
    if given.kind != "azure" or "sig" not in fields or not ends:
        raise StorageError(
            "the credentials given for this table do not open its storage; ask the gateway's operator",
            detail=f"{given.kind} credentials ({sorted(given.secret)}) for {given.location}",
        )
    return GivenSas(token, min(ends), not set(fields.get("sp", "")) <= _READING)


def _end(expiry: str | None) -> int | None:
    """Epoch milliseconds of a SAS's `se`: UTC, whether or not it says so."""
    try:
        moment = datetime.fromisoformat(expiry or "")
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)
