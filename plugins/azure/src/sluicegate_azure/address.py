"""Azure locations, and the URLs under which a container answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from sluicegate.api import canonical_endpoint_url

SCHEMES: Final = ("abfss", "abfs", "wasbs", "wasb")
"""URL schemes that name container and account: Hadoop's connectors for Data Lake and for Blob Storage.

`az://` and `azure://` are not among them: they name a container, and leave the account to be guessed.
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
        account: The storage account.
        name: The container (in Data Lake terms, the file system).
        zone: `z12.` where the account has a DNS zone of its own, else empty.
        suffix: What the account's hosts end with: `core.windows.net`, or that of a sovereign cloud.
    """

    account: str
    name: str
    zone: str
    suffix: str

    @classmethod
    def of(cls, prefix: str) -> Container:
        """The container of a canonical location."""
        container, _, host = prefix.removeprefix("abfss://").partition("/")[0].partition("@")
        account, _, rest = host.partition(".")
        zone, _, suffix = rest.partition("dfs.")
        return cls(account, container, zone, suffix)

    @property
    def prefix(self) -> str:
        """The container's canonical location, with a slash at its end."""
        return f"abfss://{self.name}@{self.account}.{self.zone}dfs.{self.suffix}/"

    @property
    def blob_endpoint(self) -> str:
        """The account's own blob service."""
        return f"https://{self.account}.{self.zone}blob.{self.suffix}"


def canonical_spelling(location: str) -> str:
    """`abfss://container@account.dfs.….net/path`, however a location of these schemes is spelled.

    Data Lake and Blob Storage give one container two host names. A location that names no container
    and account is returned as it is.
    """
    match = _LOCATION.fullmatch(location)
    if match is None:
        return location
    zone = (match["zone"] or "").lower()
    host = f"{match['account'].lower()}.{zone}dfs.{match['suffix'].lower()}"
    return f"abfss://{match['container']}@{host}{match['path']}"


def canonical_prefix(prefix: str) -> str:
    """A location prefix in its canonical spelling, with one slash at its end.

    Raises:
        ValueError: It is no Azure location, or its container's name breaks Azure's rules.
    """
    if not _LOCATION.fullmatch(prefix):
        raise ValueError(
            "must name container and account, such as "
            "abfss://container@account.dfs.core.windows.net/directory/"
        )
    location = canonical_spelling(prefix).rstrip("/")
    name = Container.of(location).name
    if not _CONTAINER.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of a container")
    return f"{location}/"


def canonical_endpoint(endpoint: str) -> str:
    """URL of a blob service, in lower case up to the path, without a default port or a last slash.

    A path is allowed: emulators have the account's name there.

    Raises:
        ValueError: It is no `http` or `https` URL, or has a user, query or fragment.
    """
    example = "https://account.blob.core.windows.net"
    return canonical_endpoint_url(endpoint, example, with_path=True)
