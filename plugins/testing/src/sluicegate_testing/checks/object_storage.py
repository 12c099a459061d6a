"""Tests for plugins whose storage derives from `ObjectStorage`. They read no objects.

class TestMyLocations(ObjectStorageBehaviour):
    spellings = ("my://lake/sales/a", "mine://lake/sales/a")
    outside = ("my://lake/other/a",)

    @pytest.fixture
    def storage(self) -> Storage: ...
    @pytest.fixture
    def vended(self) -> Vended: ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar
from urllib.parse import unquote, urlsplit

import pytest

from sluicegate.api import (
    InvalidRequest,
    PermissionDenied,
    Storage,
    StorageError,
    TableUnreadable,
    TemporaryCredentials,
)
from sluicegate_testing.vending import outside_of

__all__ = ["ObjectStorageBehaviour", "Vended"]

Vended = Callable[[str], TemporaryCredentials]

UNLISTABLE = ("a//b", "a/./b", "../b", "/a", "a//", ".", "a\nb", "\ud800")
MANY = 5000
STORES = 100


@pytest.mark.asyncio
class ObjectStorageBehaviour:
    """Inherit it as `Test…`, and provide the fixtures `storage` and `vended`.

    Attributes:
        spellings: Locations of one object below the prefix, in all forms that the storage accepts.
        outside: Locations that are not below the prefix.
    """

    spellings: ClassVar[Sequence[str]]
    outside: ClassVar[Sequence[str]]

    @pytest.fixture
    def storage(self) -> Storage:
        """The storage under test, with a prefix that is a directory of a bucket."""
        raise NotImplementedError("provide a fixture 'storage'")

    @pytest.fixture
    def vended(self) -> Vended:
        """Makes credentials that the storage accepts, with a given secret."""
        raise NotImplementedError("provide a fixture 'vended': (secret) -> TemporaryCredentials")

    @pytest.fixture
    def unusable(self, vended: Vended) -> Sequence[TemporaryCredentials]:
        """Credentials with the secret `hush` that are for another store, or incomplete."""
        raise NotImplementedError("provide a fixture 'unusable'")

    async def test_spellings_of_a_location_have_one_url(self, storage: Storage) -> None:
        signed = await storage.presign(self.spellings, 60)
        assert len({url.partition("?")[0] for url in signed.urls}) == 1

    async def test_locations_outside_are_refused_and_not_repeated(self, storage: Storage) -> None:
        for location in (*outside_of(storage.prefix), *self.outside):
            with pytest.raises(PermissionDenied) as refused:
                await storage.presign([self.spellings[0], location], 60)
            assert storage.prefix not in refused.value.message
            assert not location or location not in refused.value.message
            with pytest.raises(PermissionDenied):
                await storage.open(location)

    @pytest.mark.parametrize("expires_in", [0, -1])
    async def test_a_url_that_never_lives_is_refused(self, storage: Storage, expires_in: int) -> None:
        with pytest.raises(InvalidRequest):
            await storage.presign([self.spellings[0]], expires_in)

    async def test_a_large_batch_is_signed_in_order(self, storage: Storage) -> None:
        names = [f"part-{number} ü" for number in range(MANY)]
        signed = await storage.presign([f"{storage.prefix}{name}" for name in names], 60)
        assert [unquote(urlsplit(url).path).rpartition("/")[2] for url in signed.urls] == names

    async def test_a_name_that_is_no_text_is_refused(self, storage: Storage) -> None:
        with pytest.raises(TableUnreadable) as refused:
            await storage.presign([f"{storage.prefix}part-\ud800"], 60)
        assert "part-" in str(refused.value.detail)

    @pytest.mark.parametrize("name", UNLISTABLE)
    async def test_a_directory_that_no_listing_can_name_is_refused(
        self, storage: Storage, name: str
    ) -> None:
        with pytest.raises(TableUnreadable):
            await storage.open(f"{storage.prefix}{name}")

    async def test_directories_share_a_store(self, storage: Storage) -> None:
        first = await storage.open(f"{storage.prefix}a")
        second = await storage.open(f"{storage.prefix}b/")
        assert first.store is second.store
        assert (first.prefix[-2:], second.prefix[-2:]) == ("/a", "/b")

    async def test_stores_of_vended_credentials_are_kept_but_not_without_bound(
        self, storage: Storage, vended: Vended
    ) -> None:
        location, given = f"{storage.prefix}a", [vended(str(number)) for number in range(STORES)]
        stores = [(await storage.open(location, each)).store for each in given]
        assert (await storage.open(location, given[-1])).store is stores[-1]
        assert (await storage.open(location, given[0])).store is not stores[0]

    async def test_unusable_credentials_are_refused_and_not_shown(
        self, storage: Storage, unusable: Sequence[TemporaryCredentials]
    ) -> None:
        for each in unusable:
            for used in (
                storage.open(f"{storage.prefix}a", each),
                storage.presign([self.spellings[0]], 60, each),
            ):
                with pytest.raises(StorageError) as refused:
                    await used
                assert "hush" not in f"{refused.value} {refused.value.detail}"
