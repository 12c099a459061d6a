"""An object storage with one mistake in each suite; `caught_by` names the check that must find it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import pytest
from obstore.store import MemoryStore

from sluicegate.api import (
    ObjectDirectory,
    ObjectKeys,
    ObjectRequest,
    ObjectStorage,
    Presigned,
    Storage,
    StorageError,
    TemporaryCredentials,
    UrlSigner,
    quote_keys,
)
from sluicegate_testing.storage import ObjectStorageBehaviour, Vended

if TYPE_CHECKING:
    from obstore.store import ObjectStore


class Signer(UrlSigner):
    async def sign(
        self, keys: Sequence[str], at: int, lifetime: int, request: ObjectRequest
    ) -> list[str]:
        return [f"https://lake/{key}?end={at + lifetime}" for key in quote_keys(keys)]


class Correct(ObjectStorage[str, Signer]):
    kind = "aws"
    service = "Acme"

    def __init__(self) -> None:
        super().__init__(ObjectKeys("acme://lake/sales/", "acme://lake/", self.respelled))

    def respelled(self, location: str) -> str:
        return location.replace("ACME:", "acme:")

    async def _load(self) -> None:
        """Have no credentials."""

    async def _signer(self, given: str | None) -> Signer:
        return Signer()

    def _parse(self, credentials: TemporaryCredentials) -> str | None:
        return credentials.secret.get("secret_access_key")

    def _make_store(self, given: str | None) -> ObjectStore:
        return MemoryStore()


class TestCorrect(ObjectStorageBehaviour):
    """The correct one passes all checks."""

    caught_by: ClassVar[str | None] = None
    kind: ClassVar[type[Correct]] = Correct
    spellings: ClassVar[Sequence[str]] = ("acme://lake/sales/a", "ACME://lake/sales/a")
    outside: ClassVar[Sequence[str]] = ("acme://lake/", "")

    @pytest.fixture
    def storage(self) -> Storage:
        return self.kind()

    @pytest.fixture
    def vended(self) -> Vended:
        def vended(secret: str) -> TemporaryCredentials:
            return TemporaryCredentials("acme://lake/", "aws", {"secret_access_key": secret}, None)

        return vended

    @pytest.fixture
    def unusable(self) -> Sequence[TemporaryCredentials]:
        return [TemporaryCredentials("acme://lake/", "gcp", {"oauth_token": "hush"}, None)]


class HasOneSpelling(Correct):
    def respelled(self, location: str) -> str:
        return location.replace("ACME://lake/", "acme://lake/sales/")


class TestHasOneSpelling(TestCorrect):
    caught_by = "test_spellings_of_a_location_have_one_url"
    kind = HasOneSpelling


class RepeatsLocations(Correct):
    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        return ObjectDirectory(self._stores.own(), location)


class TestRepeatsLocations(TestCorrect):
    caught_by = "test_locations_outside_are_refused_and_not_repeated"
    kind = RepeatsLocations


class Sorts(Correct):
    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        return await super().presign(sorted(locations), expires_in, credentials)


class TestSorts(TestCorrect):
    caught_by = "test_a_large_batch_is_signed_in_order"
    kind = Sorts


class ConnectsAgain(Correct):
    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        opened = await super().open(location, credentials)
        return opened if credentials else ObjectDirectory(MemoryStore(), opened.prefix)


class TestConnectsAgain(TestCorrect):
    caught_by = "test_directories_share_a_store"
    kind = ConnectsAgain


class ShowsSecrets(Correct):
    def _given(self, credentials: TemporaryCredentials | None) -> str | None:
        if credentials is not None and credentials.kind != "aws":
            raise StorageError("the credentials are wrong", detail=str(credentials.secret))
        return super()._given(credentials)


class TestShowsSecrets(TestCorrect):
    caught_by = "test_unusable_credentials_are_refused_and_not_shown"
    kind = ShowsSecrets
