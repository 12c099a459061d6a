"""The signing step: turns paths of a table into presigned URLs, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sluicegate.access.directory_access import directory_obstacle
from sluicegate.api import (
    ConfigurationError,
    ObjectRequest,
    PathSigner,
    Presigned,
    SignedPaths,
    Storage,
    TemporaryCredentials,
    UnsupportedOperation,
)
from sluicegate.api.models import join_location
from sluicegate.plugins import Instances
from sluicegate.protocols.common.location_policy import LocationPolicy
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.derived_files import DerivedLinks
from sluicegate.tables.derived_files import DerivedFile
from sluicegate.telemetry import count, span
from sluicegate.vending import Vending
from sluicegate.vending.ledger import UrlRecord


@dataclass(frozen=True, slots=True)
class Offered:
    """Data files whose URLs a response contains.

    Attributes:
        size: Bytes of these files.
    """

    files: int = 0
    size: int = 0

    def __add__(self, other: Offered) -> Offered:
        return Offered(self.files + other.files, self.size + other.size)


NO_FILES = Offered()


@dataclass(frozen=True, slots=True)
class IssuedUrls:
    """The URLs of a complete response.

    Attributes:
        first_expiry: The first expiry, epoch milliseconds. `None` without URLs.
        last_expiry: The last expiry, epoch milliseconds. `None` without URLs.
    """

    files: int
    first_expiry: int | None
    last_expiry: int | None
    personal: bool


# Their secret signs each URL and is never sent; the other clouds' is a token that would be in the URL.
_KINDS_THAT_SIGN = ("aws", "r2")
_GET = ObjectRequest()


class Signer:
    """Presigns files of opened tables.

    Credentials that a catalog vended for the table's root sign everything in it, if they can sign
    single files. The storage's own credentials sign the rest.
    """

    def __init__(
        self, instances: Instances, vending: Vending, derived: DerivedLinks, lifetime: int
    ) -> None:
        self._instances = instances
        self._vending = vending
        self._reach = LocationPolicy(instances)
        self._derived = derived
        self._lifetime = lifetime

    def record(self, table: OpenTable, issued_at: int | None = None) -> UrlRecord:
        """The ledger record for the URLs of one response about a table."""
        return self._vending.record_urls(table.principal, table.shared, table.source, issued_at)

    def limits_offers(self, table: OpenTable) -> bool:
        """Whether there is a limit of files or bytes that the recipient is offered in a day."""
        limiter = self._vending.limiter
        return limiter is not None and limiter.counts_offers(table.principal.id)

    def offer(self, table: OpenTable, offered: Offered) -> None:
        """Count data files, before their URLs are signed or sent again."""
        if self._vending.limiter is not None:
            principal = table.principal
            self._vending.limiter.offer(principal.id, principal.address, offered.files, offered.size)

    def record_again(self, table: OpenTable, issued: IssuedUrls, issued_at: int) -> None:
        """Record the URLs of an earlier response that are sent again."""
        if issued.last_expiry is not None:
            count("sluicegate.files.signed", issued.files)
            self.record(table, issued_at).add(issued.files, issued.last_expiry)

    async def presign(
        self, table: OpenTable, paths: Sequence[str], label: str | None = None
    ) -> Presigned:
        """URLs for paths as the log names them: relative to the table, or absolute locations."""
        return await self.presign_request(table, _labelled(label), paths)

    async def sign_paths(
        self, table: OpenTable, paths: Sequence[bytes], label: str | None = None
    ) -> SignedPaths | None:
        """URLs for percent-encoded paths below the table, in parts; raises as `presign` does.

        Returns:
            `None` if the table's storage does not sign encoded paths.
        """
        if not isinstance(table.storage, PathSigner):
            return None
        count("sluicegate.files.signed", len(paths))
        with span("sign", files=len(paths)):
            directory = self._instances.canonical(table.source.location).rstrip("/") + "/"
            return await table.storage.sign_paths(
                _labelled(label), directory, paths, self._lifetime, self._vended(table)
            )

    async def presign_request(
        self, table: OpenTable, request: ObjectRequest, paths: Sequence[str]
    ) -> Presigned:
        """URLs that accept one kind of request; see `presign`."""
        count("sluicegate.files.signed", len(paths))
        vended = self._vended(table)
        with span("sign", files=len(paths)):
            root = self._instances.canonical(table.source.location)
            if not is_scattered(paths):
                prefix = root.rstrip("/") + "/"
                locations = [prefix + path for path in paths]
                return await self._sign(table.storage, request, locations, vended)
            locations = [join_location(root, path) for path in paths]
            self._reach.check(table.source, locations)
            return await self._presign_scattered(table, request, locations, vended)

    def binds_method(self, table: OpenTable, path: str) -> bool:
        """Whether the URL of a path reads nothing if it was signed for `HEAD`."""
        if not is_scattered([path]):
            return table.storage.binds_method
        root = self._instances.canonical(table.source.location)
        return self._storage(join_location(root, path))[1].binds_method

    def presign_derived(self, table: OpenTable, files: Sequence[DerivedFile]) -> Presigned:
        """URLs of the gateway for files that the table's format generates when they are fetched."""
        count("sluicegate.files.signed", len(files))
        return self._derived.sign(table, files, self._lifetime)

    def _vended(self, table: OpenTable) -> TemporaryCredentials | None:
        """The vended credentials, if URLs signed with them give no more access than intended.

        An Azure signature (SAS) becomes part of each URL and covers its entire directory: this is
        directory access, regardless of the path in the URL. Google's tokens cannot sign at all.
        """
        vended = table.credentials
        if vended is None or vended.kind in _KINDS_THAT_SIGN:
            return vended
        if vended.kind == "azure" and self._may_have_directory(table, vended.location):
            return vended
        return None

    def _may_have_directory(self, table: OpenTable, directory: str) -> bool:
        return (
            "dir" in table.shared.access_modes
            and directory_obstacle(table.shared) is None
            and self._reach.in_root(table.source, directory)
        )

    async def _presign_scattered(
        self,
        table: OpenTable,
        request: ObjectRequest,
        locations: Sequence[str],
        credentials: TemporaryCredentials | None,
    ) -> Presigned:
        """Sign locations of several storage instances, and return the URLs in the original order."""
        urls, expiries = [""] * len(locations), []
        groups: dict[tuple[int, bool], tuple[Storage, dict[int, str]]] = {}
        for row, location in enumerate(locations):
            canonical, storage = self._storage(location)
            vended = credentials is not None and self._reach.in_root(table.source, canonical)
            groups.setdefault((id(storage), vended), (storage, {}))[1][row] = canonical
        for (_, vended), (storage, rows) in groups.items():
            signing = credentials if vended else None
            signed = await self._sign(storage, request, list(rows.values()), signing)
            expiries.append(signed.expires_at)
            for row, url in zip(rows, signed.urls, strict=True):
                urls[row] = url
        return Presigned(urls, min(expiries))

    async def _sign(
        self,
        storage: Storage,
        request: ObjectRequest,
        locations: Sequence[str],
        credentials: TemporaryCredentials | None,
    ) -> Presigned:
        if request == _GET:
            return await storage.presign(locations, self._lifetime, credentials)
        return await storage.presign_request(request, locations, self._lifetime, credentials)

    def _storage(self, location: str) -> tuple[str, Storage]:
        """The location in its canonical form, and its storage."""
        try:
            return self._instances.storage_for(location)
        except ConfigurationError as error:
            raise UnsupportedOperation(
                "the table has files outside the storage that this gateway is allowed to share",
                detail=error.message,
            ) from error


def is_scattered(paths: Sequence[str]) -> bool:
    """Whether a path can be an absolute location, or leave the table's directory."""
    spelled = "\n".join(paths)  # one search is faster than one for each path
    return "://" in spelled or ".." in spelled


def _labelled(label: str | None) -> ObjectRequest:
    return ObjectRequest(label=label) if label else _GET
