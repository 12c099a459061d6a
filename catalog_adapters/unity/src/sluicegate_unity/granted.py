"""Parses vended credentials, in both of the catalog's formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from sluicegate_unity.locations import location_of, same_directory

Cloud = Literal["aws", "azure", "gcp", "r2"]

_SESSION: Final = ("access_key_id", "secret_access_key", "session_token")
_MEMBERS: Final[Mapping[str, tuple[Cloud, tuple[str, ...]]]] = {
    "aws_temp_credentials": ("aws", _SESSION),
    "r2_temp_credentials": ("r2", _SESSION),
    "azure_user_delegation_sas": ("azure", ("sas_token",)),
    "gcp_oauth_token": ("gcp", ("oauth_token",)),
}
_DELTA_KEYS: Final[Mapping[Cloud, Mapping[str, str]]] = {
    "aws": {
        "access_key_id": "s3.access-key-id",
        "secret_access_key": "s3.secret-access-key",
        "session_token": "s3.session-token",
    },
    "azure": {"sas_token": "azure.sas-token"},
    "gcp": {"oauth_token": "gcs.oauth-token"},
}


@dataclass(frozen=True, slots=True)
class Granted:
    """Credentials that the catalog vends for a table.

    Attributes:
        kind: Kind of credentials; `None` if the catalog has none for this storage.
        expires_at: Epoch milliseconds; `None` for fixed keys, which cover the entire bucket and never
            expire.
    """

    kind: Cloud | None = None
    secret: Mapping[str, str] = field(default_factory=dict, repr=False)
    expires_at: int | None = None


def table_credentials(answer: Mapping[str, Any], location: str) -> Granted:
    """Parse the response of `temporary-table-credentials`."""
    url = answer.get("url")
    if url is not None and not _is(url, location):
        raise ValueError("the credentials are for another directory")
    found = [
        (cloud, _texts(answer[member], {name: name for name in names}))
        for member, (cloud, names) in _MEMBERS.items()
        if isinstance(answer.get(member), dict)
    ]
    return _one(found, answer.get("expiration_time"))


def delta_credentials(answer: Mapping[str, Any], location: str) -> Granted:
    """Parse the response of the Delta API's `credentials` for the table's own directory."""
    entries = answer.get("storage-credentials")
    if not isinstance(entries, list):
        raise ValueError("the response contains no list of credentials")
    # A shorter prefix would also cover other tables, and a longer one not all of this table.
    fitting = [entry for entry in entries if isinstance(entry, dict) and _fits(entry, location)]
    if not fitting:
        raise ValueError("the response contains no credentials for exactly this directory")
    config = fitting[0].get("config")
    found = [
        (cloud, secret)
        for cloud, keys in _DELTA_KEYS.items()
        if (secret := _texts(config if isinstance(config, dict) else {}, keys))
    ]
    return _one(found, fitting[0].get("expiration-time-ms"))


def _one(found: list[tuple[Cloud, dict[str, str]]], expires_at: object) -> Granted:
    given = [(cloud, secret) for cloud, secret in found if secret]
    if len(given) > 1:
        raise ValueError("the response contains credentials of several clouds")
    if isinstance(expires_at, bool) or not isinstance(expires_at, int | None):
        raise ValueError("the response does not contain the expiry of the credentials")
    return Granted(*given[0], expires_at) if given else Granted()


def _fits(entry: Mapping[str, Any], location: str) -> bool:
    return entry.get("operation") in (None, "READ") and _is(entry.get("prefix"), location)


def _is(uri: object, location: str) -> bool:
    try:
        return same_directory(location_of(str(uri)), location)
    except ValueError:
        return False


def _texts(entry: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, str]:
    """Return those of the wanted strings that are present."""
    found = {ours: entry.get(theirs) for ours, theirs in keys.items()}
    return {name: value for name, value in found.items() if isinstance(value, str) and value}
