"""The base class of storage plugins for object stores: a bucket, and a prefix in it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, Generic, Literal, TypeVar

from sluicegate.api.errors import StorageError, UnsupportedOperation
from sluicegate.api.models import ObjectDirectory, ObjectRequest, Presigned
from sluicegate.api.object_storage.object_stores import ObjectStores
from sluicegate.api.object_storage.presigning import batches, signed_lifetime
from sluicegate.api.storage import Storage
from sluicegate.api.vending import CredentialVendor, Scope, TemporaryCredentials

if TYPE_CHECKING:
    from obstore.store import ObjectStore

    from sluicegate.api.object_storage.object_keys import ObjectKeys

_SEVEN_DAYS: Final = 604_800
_GET: Final = ObjectRequest()


class UrlSigner(ABC):
    """Signs URLs of one bucket with one set of credentials.

    Attributes:
        max_lifetime: Maximum lifetime of a URL that the store accepts, in seconds.
        expires_at: Expiry of the credentials, epoch milliseconds; `None` if they don't expire.
    """

    max_lifetime: int = _SEVEN_DAYS
    expires_at: int | None = None

    @abstractmethod
    async def sign(
        self, keys: Sequence[str], at: int, lifetime: int, request: ObjectRequest
    ) -> list[str]:
        """URLs of at most 1,024 keys, in their order.

        Args:
            keys: Keys in the bucket, not percent-encoded (see `quote_keys`).
            at: Time of signing, epoch seconds.
            lifetime: Lifetime in seconds from `at`, at least 1.
            request: See `Storage.presign_request`.

        Raises:
            StorageError: The credentials can't sign now.
            TableUnreadable: A key is not valid Unicode.
        """


_Given = TypeVar("_Given", bound=Hashable)
_Signer = TypeVar("_Signer", bound=UrlSigner)


class ObjectStorage(Storage, CredentialVendor, Generic[_Given, _Signer]):
    """A storage of the objects below a prefix of one bucket, without what is particular to a store.

    It converts locations to keys and rejects other locations, presigns in batches, limits lifetimes to
    those of the credentials, rejects credentials for other stores, and keeps the connections to the
    store. A plugin adds how the store is reached and how it signs: `_load`, `_signer`, `_parse` and
    `_make_store`. If it vends credentials, it also overrides `_vend`.

    The parameters of the type are the plugin's own types of vended credentials, which must be
    hashable, and of its signer.

    Attributes:
        kind: The kind of `TemporaryCredentials` that the store accepts.
        service: The name of the store in messages.
        no_vending: What recipients read if they request credentials, but vending is not configured.
    """

    kind: ClassVar[Literal["aws", "azure", "gcp", "r2"]]
    service: ClassVar[str]
    no_vending: ClassVar[str] = (
        "the table's storage issues no temporary credentials; read the table with 'url' access"
    )

    def __init__(
        self, keys: ObjectKeys, *, vending: bool = False, clock: Callable[[], float] = time.time
    ) -> None:
        self._keys = keys
        self._vending = vending
        self._clock = clock
        self._stores = _Stores(self._make_store)

    @property
    def prefix(self) -> str:
        """The canonical location prefix, ending with a slash."""
        return self._keys.prefix

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Presigned GET URLs; see `presign_request`."""
        return await self.presign_request(_GET, locations, expires_in, credentials)

    async def presign_request(
        self,
        request: ObjectRequest,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Presigned URLs for one kind of request, all with the same signing time.

        They are valid for `expires_in` seconds, but not longer than the store allows, and not longer
        than the credentials that sign them.

        Raises:
            InvalidRequest: `expires_in` is less than a second.
            PermissionDenied: A location is outside of `prefix`.
            StorageError: No credentials are available, or `credentials` are for another store.
            TableUnreadable: A location is not valid Unicode.
        """
        keys = self._keys.of(locations)
        signer, at, lifetime = await self._signing(expires_in, credentials)
        urls: list[str] = []
        async for some in batches(keys):
            urls += await signer.sign(some, at, lifetime, request)
        return Presigned(urls, (at + lifetime) * 1000)

    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        """Open a directory for reading.

        Raises:
            PermissionDenied: The location is outside of `prefix`.
            StorageError: No credentials are available, or `credentials` are for another store.
            TableUnreadable: The directory's name has a segment or character that no listing can name
                (`//`, `.`, `..`, control characters).
        """
        key = self._keys.of_directory(location)
        given = self._given(credentials)
        if given is not None:
            return ObjectDirectory(self._stores.vended(given), key)
        await self._load()
        return ObjectDirectory(self._stores.own(), key)

    def vends(self, location: str) -> bool:
        """Whether vending is configured, and the location is a directory below the prefix."""
        return self._vending and self._keys.has_directory(location)

    async def vend(self, scope: Scope) -> TemporaryCredentials:
        """Issue credentials for the directories of the scope; see `CredentialVendor.vend`.

        Raises:
            PermissionDenied: A location is outside of `prefix`.
            TableUnreadable: No listing can name a directory.
            UnsupportedOperation: Vending is not configured, or the store has no such credentials.
        """
        self._check_binding(scope.binding)
        directories = [self._keys.of_directory(location) for location in scope.locations]
        if not self._vending:
            raise UnsupportedOperation(self.no_vending)
        return await self._vend(scope, directories)

    def preload(self) -> None:
        """Create the store, which loads certificates."""
        self._stores.own()

    async def aclose(self) -> None:
        """Release the connections to the store."""
        self._stores.clear()

    @abstractmethod
    async def _load(self) -> None:
        """Load the storage's own credentials, so that `open` reports if there are none.

        Raises:
            StorageError: There are none, or the service that issues them doesn't respond.
        """

    @abstractmethod
    async def _signer(self, given: _Given | None) -> _Signer:
        """Return what signs with vended credentials, or with the storage's own.

        Raises:
            StorageError: The storage's own credentials are not available.
            UnsupportedOperation: Vended credentials of this store can't sign.
        """

    @abstractmethod
    def _parse(self, credentials: TemporaryCredentials) -> _Given | None:
        """Return credentials of `kind` in the plugin's own type; `None` if they are incomplete."""

    @abstractmethod
    def _make_store(self, given: _Given | None) -> ObjectStore:
        """Create a store that reads with vended credentials, or with the storage's own.

        A store without vended credentials renews its credentials itself (`credential_provider` in
        obstore). Use `client_options` and `retry_config`.
        """

    async def _vend(self, scope: Scope, directories: Sequence[str]) -> TemporaryCredentials:
        """Issue credentials. Override it if your configuration can enable vending.

        Args:
            scope: The requested scope.
            directories: The keys of its locations, without slashes at their ends; `""` is the bucket.
        """
        raise UnsupportedOperation(self.no_vending)

    def _check_binding(self, binding: str | None) -> None:
        """Reject the binding of a scope. Override it if your credentials have bindings.

        Raises:
            UnsupportedOperation: The store has no credentials of this type.
        """
        if binding is not None:
            raise UnsupportedOperation(
                f"{self.service} has no credential binding '{binding}'; request credentials without a "
                "binding"
            )

    async def _signing(
        self, expires_in: int, credentials: TemporaryCredentials | None
    ) -> tuple[_Signer, int, int]:
        """Return the signer, the time of signing in epoch seconds, and the lifetime in seconds."""
        signer = await self._signer(self._given(credentials))
        at = int(self._clock())
        return signer, at, signed_lifetime(at, expires_in, signer.max_lifetime, signer.expires_at)

    def _given(self, credentials: TemporaryCredentials | None) -> _Given | None:
        if credentials is None:
            return None
        given = self._parse(credentials) if credentials.kind == self.kind else None
        if given is None:
            raise StorageError(
                "the credentials vended for this table are not valid for its storage; ask the "
                "gateway's operator",
                detail=f"{credentials.kind} credentials ({sorted(credentials.secret)}) for "
                f"{credentials.location}",
            )
        return given


class _Stores(ObjectStores[_Given, "ObjectStore"]):
    def __init__(self, make: Callable[[_Given | None], ObjectStore]) -> None:
        super().__init__()
        self._make = make

    def _make_own(self) -> ObjectStore:
        return self._make(None)

    def _make_vended(self, given: _Given) -> ObjectStore:
        return self._make(given)
