"""Translates Iceberg's storage credentials to the gateway's model. The longest prefix wins.

Source: credentials refresh proposal, "JSON representation"; Iceberg REST specification,
`StorageCredential`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from urllib.parse import parse_qs

from sluicegate.api import TemporaryCredentials
from sluicegate_iceberg.properties import connection
from sluicegate_iceberg.rest.responses import StorageCredential

Cloud = Literal["aws", "azure", "gcp"]

_CLOUDS: Mapping[str, Cloud] = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "aws"),
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs"), "azure"),
    **dict.fromkeys(("gs", "gcs"), "gcp"),
}
# The year 5138. Later values are not plausible times, and some clients couldn't represent them.
_TIME = re.compile(r"[0-9]{1,14}")
_AUTHORITY = re.compile(r"[^/]*")
_AZURE_ACCOUNT = re.compile(r"[^@/]+@(?P<host>(?P<account>[^./]+)[^/]*)")


@dataclass(frozen=True, slots=True)
class _Secret:
    """One cloud's secret and, if known, its expiry (epoch milliseconds)."""

    fields: Mapping[str, str] = field(repr=False)
    expires_at: int | None
    connection: Mapping[str, str]


def chosen(
    offered: Iterable[StorageCredential],
    locations: Sequence[str],
    properties: Mapping[str, str],
) -> TemporaryCredentials | None:
    """Return credentials of the longest prefix that contains some directories, or `None`.

    Their `location` is what they cover: the first directory, or the prefix if that is wider.
    """
    for credential in sorted(offered, key=lambda each: len(each.prefix), reverse=True):
        if all(_holds(credential.prefix, location) for location in locations):
            made = _made(credential, locations[0], properties)
            if made is not None:
                return made
    return None


def _made(
    credential: StorageCredential, location: str, properties: Mapping[str, str]
) -> TemporaryCredentials | None:
    cloud = _cloud(location)
    secret = _READ[cloud](credential.config, location) if cloud is not None else None
    if cloud is None or secret is None:
        return None
    known = connection({**properties, **credential.config}) if cloud == "aws" else secret.connection
    return TemporaryCredentials(
        location=_opened(credential.prefix, location),
        kind=cloud,
        secret=secret.fields,
        expires_at=secret.expires_at,
        connection=known,
    )


def _cloud(location: str) -> Cloud | None:
    return _CLOUDS.get(location.partition(":")[0].lower())


def _holds(prefix: str, location: str) -> bool:
    """Return whether a prefix contains a directory.

    `s3://b/t` doesn't contain `s3://b/t2`, and `gs` contains all of Google's storage.
    """
    start, directory = _comparable(prefix), f"{_comparable(location)}/"
    if not directory.startswith(start):
        return False
    return start == "" or start[-1] in ":/" or directory[len(start)] in ":/"


def _opened(prefix: str, location: str) -> str:
    """Return the directory, or the wider one that the prefix names; at most the entire bucket."""
    if _comparable(prefix.rstrip("/")) == _comparable(location):
        return location
    scheme, separator, rest = location.partition("://")
    authority = _AUTHORITY.match(rest)
    bucket = f"{scheme}{separator}{authority[0] if authority else rest}"
    wider = prefix.rstrip("/")
    return wider if len(wider) > len(bucket) else bucket


def _comparable(location: str) -> str:
    """Normalize the schemes of a cloud, and Azure's two hosts of an account."""
    scheme, separator, rest = location.partition(":")
    cloud = _CLOUDS.get(scheme.lower())
    if cloud == "azure":
        authority, slash, path = rest.removeprefix("//").partition("/")
        rest = f"//{authority.replace('.blob.', '.dfs.')}{slash}{path}" if rest else rest
    return f"{cloud or scheme}{separator}{rest}"


def _s3(config: Mapping[str, str], location: str) -> _Secret | None:
    fields = {
        "access_key_id": config.get("s3.access-key-id"),
        "secret_access_key": config.get("s3.secret-access-key"),
        "session_token": config.get("s3.session-token"),
    }
    known = {name: value for name, value in fields.items() if value}
    if not known.keys() >= {"access_key_id", "secret_access_key"}:
        return None
    return _Secret(known, _first_time(config, "s3.session-token-expires-at-ms", "expiration-time"), {})


def _adls(config: Mapping[str, str], location: str) -> _Secret | None:
    found = _AZURE_ACCOUNT.match(location.partition("://")[2])
    if found is None:
        return None
    for name in (f".{found['host']}", f".{found['account']}", ""):
        if token := config.get(f"adls.sas-token{name}"):
            keys = (f"adls.sas-token-expires-at-ms{name}", "expiration-time")
            expires_at = _first_time(config, *keys) or _signed_expiry(token)
            return _Secret({"sas_token": token}, expires_at, {"account": found["account"]})
    return None


def _gcs(config: Mapping[str, str], location: str) -> _Secret | None:
    token = config.get("gcs.oauth2.token")
    if not token:
        return None
    expires_at = _first_time(config, "gcs.oauth2.token-expires-at", "expiration-time")
    return _Secret({"oauth_token": token}, expires_at, {})


def _first_time(config: Mapping[str, str], *names: str) -> int | None:
    """Return epoch milliseconds of the first valid time."""
    values = (config.get(name, "") for name in names)
    return next((int(value) for value in values if _TIME.fullmatch(value)), None)


def _signed_expiry(token: str) -> int | None:
    """Return epoch milliseconds of the expiry in a shared access signature, `se`."""
    try:
        ends = datetime.fromisoformat(parse_qs(token.removeprefix("?"))["se"][0])
    except (KeyError, ValueError):
        return None
    return int(ends.timestamp() * 1000) if ends.tzinfo is not None else None


_READ: Mapping[Cloud, Callable[[Mapping[str, str], str], _Secret | None]] = {
    "aws": _s3,
    "azure": _adls,
    "gcp": _gcs,
}
