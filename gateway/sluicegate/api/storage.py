"""The base class of storage plugins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from sluicegate.api.models import ObjectDirectory, ObjectRequest, Presigned
from sluicegate.api.vending import TemporaryCredentials


class Storage(ABC):
    """Presigns and opens locations below one prefix. Each entry of `storage:` has one instance.

    A storage that can vend credentials also derives from `CredentialVendor`.

    Attributes:
        binds_method: Whether the store rejects requests with another method than that of
            `presign_request`, whichever credentials sign. With `False`, the gateway counts a URL for
            `HEAD` as one that reads the object, against the limits of recipients.
    """

    binds_method: ClassVar[bool] = False

    @property
    @abstractmethod
    def prefix(self) -> str:
        """The location prefix that this instance serves, ending with a slash."""

    @abstractmethod
    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Presigned GET URLs, thousands at once.

        Args:
            locations: Objects below `prefix`.
            expires_in: Requested lifetime in seconds. URLs expire earlier if the credentials do.
            credentials: Credentials from a catalog to sign with, instead of the instance's own.

        Raises:
            PermissionDenied: A location is outside of `prefix`.
            StorageError: No credentials for signing are available.
        """

    async def presign_request(
        self,
        request: ObjectRequest,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """URLs that accept one kind of request, such as `HEAD`.

        The default returns what `presign` returns. Override it if your store accepts only the method
        or headers that were signed, or if its access logs can contain labels. Iceberg clients need the
        former: they send requests to the URLs that they get, with their own methods and headers. The
        gateway also calls it instead of `presign` if there is a label.

        Args:
            request: The method, the headers that the signature must cover, and the label of the URLs.
            locations: See `presign`, as for all other arguments, and the errors.
            expires_in: Requested lifetime in seconds.
            credentials: Credentials to sign with.
        """
        return await self.presign(locations, expires_in, credentials)

    @abstractmethod
    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        """Open a directory for reading, with the given credentials or the instance's own.

        If `PluginContext.links` signs links for this storage, it also opens the object of a link.

        Raises:
            PermissionDenied: The location is outside of `prefix`.
            StorageError: The store cannot be reached, or rejects the credentials.
        """

    def preload(self) -> None:  # noqa: B027 (having nothing to import is the usual case)
        """Import the modules that the first request needs.

        Called once at startup, in a worker thread. The gateway is ready after all of these calls, and
        an error prevents the start. Do not contact other systems, which might be unavailable.
        """

    async def aclose(self) -> None:  # noqa: B027 (having nothing to release is the usual case)
        """Release connections. Called once, at shutdown."""


@dataclass(frozen=True, slots=True)
class SignedPaths:
    """The parts of URLs: each is `start`, the percent-encoded path, `middle` and its signature.

    Attributes:
        start: What precedes each path.
        middle: What separates a path from its signature.
        signatures: Signatures in the order of the paths, as they are in URLs.
        expires_at: The first expiry, epoch milliseconds.
    """

    start: str
    middle: str = field(repr=False)
    signatures: list[str] = field(repr=False)
    expires_at: int

    def urls(self, paths: Sequence[bytes]) -> list[str]:
        """The URLs of the paths that were signed."""
        start, middle = self.start, self.middle
        return [
            f"{start}{path.decode()}{middle}{signature}"
            for path, signature in zip(paths, self.signatures, strict=True)
        ]


class PathSigner(ABC):
    """A storage that signs files of a directory by their percent-encoded paths.

    Deriving from it is optional. The gateway keeps the encoded paths of tables that are queried often.
    It then needs less time for each file than with `Storage.presign`.
    """

    @abstractmethod
    async def sign_paths(
        self,
        request: ObjectRequest,
        directory: str,
        paths: Sequence[bytes],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> SignedPaths:
        """The URLs of `Storage.presign_request`, in parts. Called with a few hundred paths at once.

        Args:
            request: See `Storage.presign_request`, as for all other arguments, and the errors.
            directory: The location of a directory, with a slash at its end.
            paths: Paths of objects below it, percent-encoded by `quote_keys`.
            expires_in: Requested lifetime in seconds.
            credentials: Credentials to sign with.
        """
