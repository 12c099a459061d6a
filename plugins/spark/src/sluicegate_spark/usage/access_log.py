"""Parses lines of S3's server access logs.

New fields can be added at the end of a line at any time. What clients send as text is in fields after
those that are parsed here. Source: Amazon S3 User Guide, "Amazon S3 server access log format". It
doesn't say that Amazon S3 encodes the keys of GET requests twice, which several readers of its logs
found independently.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote, unquote_plus

from sluicegate.api import LABEL_PARAMETER, labelled_entry

OBJECT_READ: Final = "REST.GET.OBJECT"
"""The operation that returns the content of an object."""

_MONTHS: Final = "JanFebMarAprMayJunJulAugSepOctNovDec"
_LINE: Final = re.compile(
    r"\S+ (?P<bucket>[A-Za-z0-9._-]{1,255}) "
    r"\[(?P<day>\d\d)/(?P<month>[A-Z][a-z]{2})/(?P<year>\d{4}):(?P<clock>\d\d:\d\d:\d\d) "
    r"(?P<zone>[+-]\d{4})\] "
    r"(?P<address>\S+) (?P<requester>\S+) (?P<request_id>\S+) (?P<operation>\S+) (?P<key>\S+) "
    r'(?:"(?P<uri>[^"]*)"|-) (?P<status>-|\d{3}) \S+ (?P<bytes>-|\d{1,15}) '
    r'(?:-|\d+) (?:-|\d+) (?:-|\d+) (?:-|").*',
    re.ASCII,
)
_SESSION: Final = re.compile(r"arn:[^:]*:sts::[^:]*:(?:assumed-role/[^/]+|federated-user)/(.+)")
_SIGNED_AT: Final = re.compile(r"\d{8}T\d{6}Z")
_SIGNED_QUERY: Final = {"X-Amz-Date", "X-Amz-Expires", LABEL_PARAMETER}
_MOST_PARAMETERS: Final = 100
_LONGEST_LIFETIME: Final = 604_800  # seconds; S3 accepts no longer one
_TARGET: Final = re.compile(r"[A-Z]+ (?:https?://[^/ ]*)?(/[^? ]*)")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class _Presigned(NamedTuple):
    signed_at: datetime | None = None
    expires_at: datetime | None = None
    label: str | None = None


_NOT_PRESIGNED: Final = _Presigned()


class BrokenLine(ValueError):
    """A line is not one of an access log. The message says why, without the line's content."""


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """One request to a bucket, without its query, which contains the signature.

    Attributes:
        address: The client's address, or `None`.
        key: The key of the object, decoded; empty if the request is not for an object.
        status: The HTTP status, or `None`.
        bytes: Bytes of the response's body.
        signed_at: When its URL was signed; `None` if it was no presigned URL.
        label: Id of the ledger entry that its URL names; `None` if it names none.
    """

    bucket: str
    at: datetime
    address: str | None
    session: str | None
    request_id: str
    operation: str
    key: str
    status: int | None
    bytes: int
    signed_at: datetime | None
    url_expires_at: datetime | None
    label: str | None = None


def parse_line(line: bytes) -> LoggedRequest:
    """Return the request that a line records."""
    try:
        text = line.removesuffix(b"\r").decode()
    except UnicodeDecodeError:
        raise BrokenLine("not UTF-8") from None
    if _CONTROL.search(text):
        raise BrokenLine("control characters")
    fields = _LINE.fullmatch(text)
    if fields is None:
        raise BrokenLine("not in the format of an access log")
    session = _SESSION.fullmatch(fields["requester"])
    url = _presigned(fields["uri"] or "")
    return LoggedRequest(
        bucket=fields["bucket"],
        at=_time(fields),
        address=_known(fields["address"]),
        session=None if session is None else session[1],
        request_id=fields["request_id"],
        operation=fields["operation"],
        key=_key(fields["key"], fields["bucket"], fields["uri"] or ""),
        status=None if fields["status"] == "-" else int(fields["status"]),
        bytes=0 if fields["bytes"] == "-" else int(fields["bytes"]),
        signed_at=url.signed_at,
        url_expires_at=url.expires_at,
        label=url.label,
    )


def _known(field: str) -> str | None:
    return None if field == "-" else field


def _key(field: str, bucket: str, uri: str) -> str:
    """Return the key of an object: the decoding of its field that agrees with the path of the request.

    Without such a decoding, for example if the line has no request, it is that of Amazon S3.
    """
    if field == "-" or "%" not in field:
        return _known(field) or ""
    once, twice = unquote(field), unquote(unquote(field))
    target = _TARGET.match(uri)
    if target is not None:
        path = unquote(target[1])
        for key in (twice, once, unquote_plus(once)):
            if path in (f"/{key}", f"/{bucket}/{key}"):
                return key
    return twice


def _time(fields: re.Match[str]) -> datetime:
    try:
        month = _MONTHS.index(fields["month"]) // 3 + 1
        day = f"{fields['year']}-{month:02}-{fields['day']}"
        return datetime.fromisoformat(f"{day}T{fields['clock']}{fields['zone']}").astimezone(UTC)
    except (ValueError, OverflowError):
        raise BrokenLine("not a time") from None


def _presigned(uri: str) -> _Presigned:
    """Return what the query of a presigned URL says."""
    query = uri.partition("?")[2].partition(" ")[0]
    try:
        found = parse_qsl(query, max_num_fields=_MOST_PARAMETERS)
        known = {name: value for name, value in found if name in _SIGNED_QUERY}
        if not _SIGNED_AT.fullmatch(known["X-Amz-Date"]):
            return _NOT_PRESIGNED
        signed_at = datetime.fromisoformat(known["X-Amz-Date"])
        lifetime = int(known["X-Amz-Expires"])
        if not 0 < lifetime <= _LONGEST_LIFETIME:
            return _NOT_PRESIGNED
        label = labelled_entry(known.get(LABEL_PARAMETER, ""))
        return _Presigned(signed_at, signed_at + timedelta(seconds=lifetime), label)
    except (ValueError, KeyError, OverflowError):
        return _NOT_PRESIGNED
