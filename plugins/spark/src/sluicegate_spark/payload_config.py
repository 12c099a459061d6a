"""Filters a payload's `config`: which keys have an effect, and which hosts they can name.

Payloads are untrusted. Keys that are not listed here never reach Spark, Hadoop or Iceberg: some load
classes (`client.factory`, `io-impl`) or choose credentials (`fs.s3a.aws.credentials.provider`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator

from sluicegate.api import SecretStr, TaskFailed, canonical_endpoint_url, internal_addresses

_KEYS: Final = frozenset(
    {
        "s3.access-key-id",
        "s3.secret-access-key",
        "s3.session-token",
        "s3.session-token-expires-at-ms",
        "s3.endpoint",
        "s3.path-style-access",
        "s3.region",
        "client.region",
        "adls.sas-token",
        "adls.sas-token-expires-at-ms",
        "gcs.oauth2.token",
        "gcs.oauth2.token-expires-at",
        "expiration-time",
    }
)
_OF_ACCOUNTS: Final = ("adls.sas-token.", "adls.sas-token-expires-at-ms.")
# These become parts of a host name.
_SHAPES: Final = {
    "client.region": re.compile(r"[a-z0-9-]{1,40}"),
    "s3.region": re.compile(r"[a-z0-9-]{1,40}"),
    "s3.path-style-access": re.compile(r"true|false", re.IGNORECASE),
}
_AMAZON: Final = re.compile(r"https://s3(-fips)?(\.dualstack)?(\.[a-z0-9-]+)?\.amazonaws\.com(\.cn)?")
_AZURE: Final = re.compile(
    r"[a-z0-9]{3,24}\.(blob|dfs)\.core\.(windows\.net|chinacloudapi\.cn|usgovcloudapi\.net)"
)
_AZURE_SCHEMES: Final = ("abfs", "abfss", "wasb", "wasbs")
_EXAMPLE: Final = "https://minio.example.com:9000"


def effective(config: Mapping[str, str]) -> dict[str, str]:
    """Return the entries that have an effect."""
    return {name: value for name, value in config.items() if is_known(name)}


def is_known(name: str) -> bool:
    """Return whether a key has an effect."""
    return name in _KEYS or name.startswith(_OF_ACCOUNTS)


def known_file_io(value: Mapping[str, SecretStr]) -> Mapping[str, SecretStr]:
    """Validate a setting `file_io`."""
    if unknown := [name for name in value if not is_known(name)]:
        raise ValueError(f"'{unknown[0]}' has no effect; expected keys such as s3.access-key-id")
    return value


FileIo = Annotated[Mapping[str, SecretStr], AfterValidator(known_file_io)]
"""A setting `file_io`."""


def endpoint(text: str) -> str:
    """Parse an entry of the allow-list: a URL, or a host with all of its ports."""
    if "://" in text:
        return canonical_endpoint_url(text, _EXAMPLE)
    return canonical_endpoint_url(f"https://{text}", _EXAMPLE).removeprefix("https://")


@dataclass(frozen=True, slots=True)
class AllowedEndpoints:
    """The hosts that payloads can name, in addition to the clouds' own."""

    entries: frozenset[str] = frozenset()

    async def check(self, config: Mapping[str, str], locations: Iterable[str]) -> None:
        """Ensure that all hosts that a payload names are allowed."""
        for name, shape in _SHAPES.items():
            if (value := config.get(name)) is not None and not shape.fullmatch(value):
                raise _refused(f"config: '{name}' has an invalid value")
        if (url := config.get("s3.endpoint")) is not None:
            await self._check(_canonical(url), "config: 's3.endpoint'", _AMAZON)
        for location in locations:
            scheme, _, rest = location.partition("://")
            if scheme.lower() in _AZURE_SCHEMES:
                host = rest.partition("/")[0].rpartition("@")[2].lower()
                url = _canonical(f"https://{host}")
                await self._check(url, "the table's location", re.compile(f"https://{_AZURE.pattern}"))

    async def _check(self, url: str, place: str, clouds_own: re.Pattern[str]) -> None:
        host = urlsplit(url).hostname or ""
        listed = bool({url, host, url.partition("://")[2]} & self.entries)
        if not listed and not clouds_own.fullmatch(url):
            raise _refused(
                f"{place} names the host '{host[:255]}', which is not a public cloud's; the operator "
                "of the delegation service can allow it with the executor's setting 'endpoints'"
            )
        if listed and _is_literal(host):
            return
        if internal := await internal_addresses(host):
            raise _refused(
                f"{place} names the host '{host}', which resolves to {internal[0]}: addresses of this "
                "machine and of metadata services are rejected, unless 'endpoints' contains the address"
            )


def _is_literal(host: str) -> bool:
    """Return whether a host is an IP address or `localhost` rather than another name."""
    try:
        ip_address(host)
    except ValueError:
        return host == "localhost"
    return True


def _canonical(url: str) -> str:
    try:
        return canonical_endpoint_url(url, _EXAMPLE)
    except ValueError as error:
        raise _refused(f"config: an endpoint {error}") from None


def _refused(why: str) -> TaskFailed:
    return TaskFailed(why, error_code="INVALID_PAYLOAD")
