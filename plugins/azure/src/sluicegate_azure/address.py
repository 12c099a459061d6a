"""Parses Azure locations and builds the URLs of containers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from sluicegate.api import canonical_endpoint_url

SCHEMES: Final = ("abfss", "abfs", "wasbs", "wasb")
"""URL schemes that name container and account, of Hadoop's connectors for Data Lake and Blob Storage.

`az://` and `azure://` are not included: they name a container, but not its account.
"""

_LOCATION: Final = re.compile(
    r"(?:abfss?|wasbs?)://(?P<container>[^@/]+)@(?P<account>[a-z0-9]{3,24})"
    r"\.(?P<zone>z[0-9]+\.)?(?:dfs|blob)\.(?P<suffix>[a-z0-9.-]+)(?P<path>/.*|)",
    re.IGNORECASE | re.DOTALL,
)
_CONTAINER: Final = re.compile(r"\$root|\$web|[a-z0-9](?:-?[a-z0-9]){2,62}")


@dataclass(frozen=True, slots=True)
class Container:
    """A container of a storage account.

    Attributes:
        zone: `z12.` if the account has a dedicated DNS zone, else empty.
    """

    account: str
    name: str
    zone: str
    suffix: str

    @classmethod
    def of(cls, prefix: str) -> Container:
        """Return the container of a canonical location."""
        container, _, host = prefix.removeprefix("abfss://").partition("/")[0].partition("@")
        account, _, rest = host.partition(".")
        zone, _, suffix = rest.partition("dfs.")
        return cls(account, container, zone, suffix)

    @property
    def prefix(self) -> str:
        """Return the container's canonical location, with a trailing slash."""
        return f"abfss://{self.name}@{self.account}.{self.zone}dfs.{self.suffix}/"

    @property
    def blob_endpoint(self) -> str:
        """Return the URL of the account's own blob service."""
        return f"https://{self.account}.{self.zone}blob.{self.suffix}"


def canonical_location(location: str) -> str:
    """Return `abfss://container@account.dfs.….net/path` for a location of any of these schemes.

    Data Lake and Blob Storage use different host names for the same container. A location that names
    no container and account is returned unchanged.
    """
    match = _LOCATION.fullmatch(location)
    if match is None:
        return location
    zone = (match["zone"] or "").lower()
    host = f"{match['account'].lower()}.{zone}dfs.{match['suffix'].lower()}"
    return f"abfss://{match['container']}@{host}{match['path']}"


def canonical_prefix(prefix: str) -> str:
    """Return a location prefix in canonical form, with one trailing slash."""
    if not _LOCATION.fullmatch(prefix):
        raise ValueError(
            "must name container and account, such as "
            "abfss://container@account.dfs.core.windows.net/directory/"
        )
    location = canonical_location(prefix).rstrip("/")
    name = Container.of(location).name
    if not _CONTAINER.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of a container")
    return f"{location}/"


def canonical_endpoint(endpoint: str) -> str:
    """Return the URL of a blob service in normalized form.

    The part before the path is in lower case, without a default port and a trailing slash. A path is
    allowed, because emulators have the account's name there.
    """
    example = "https://account.blob.core.windows.net"
    return canonical_endpoint_url(endpoint, example, with_path=True)
