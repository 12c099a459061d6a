"""The suites fail for plugins with the faults that they are there to find."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import pytest

from sluicegate.api import (
    CatalogTable,
    NotFound,
    ObjectDirectory,
    ObjectRequest,
    PathSigner,
    Presigned,
    SignedPaths,
    TemporaryCredentials,
)
from sluicegate_testing.catalog import CatalogBehaviour
from sluicegate_testing.fakes import FakeLinks, MemoryCatalog, MemoryStorage
from sluicegate_testing.storage import StorageBehaviour

PREFIX = "memory://lake/"
EXPECTED = {"eu": {"orders": "memory://lake/orders", "größe": "memory://lake/two words"}}
TABLES = {
    schema: {name: CatalogTable(name, "delta", at) for name, at in tables.items()}
    for schema, tables in EXPECTED.items()
}


class Sorts(MemoryStorage):
    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        return await super().presign(sorted(locations), expires_in)


class LivesLong(MemoryStorage):
    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        return await super().presign(locations, expires_in * 2)


class SignsAnything(MemoryStorage):
    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        return FakeLinks().sign(locations, expires_in)


class DropsDuplicates(MemoryStorage):
    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        return await super().presign([*locations[:1000]], expires_in)


class IgnoresTheRequest(MemoryStorage):
    async def presign_request(
        self,
        request: ObjectRequest,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        return FakeLinks().sign([f"{self.prefix}other" for _ in locations], expires_in)


class SignsAnyPath(MemoryStorage, PathSigner):
    async def sign_paths(
        self,
        request: ObjectRequest,
        directory: str,
        paths: Sequence[bytes],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> SignedPaths:
        locations = [f"{directory}{path.decode()}" for path in paths]
        signed = FakeLinks().sign(locations, expires_in)
        return SignedPaths("", "", signed.urls, signed.expires_at)


class OpensAnything(MemoryStorage):
    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        return ObjectDirectory(self.store, location)


class Shows(MemoryStorage):
    def __repr__(self) -> str:
        return "Shows(secret='hunter2')"


class ClosesOnce(MemoryStorage):
    closed = False

    async def aclose(self) -> None:
        if self.closed:
            raise RuntimeError("closed already")
        self.closed = True


Run = Callable[[StorageBehaviour, MemoryStorage], Awaitable[None]]


async def _order(suite: StorageBehaviour, storage: MemoryStorage) -> None:
    async def get(url: str) -> bytes:
        location = FakeLinks().location_of(url)
        return location.rpartition("/")[2].encode()

    await suite.test_presigned_urls_are_in_the_order_asked(storage, storage.put, get)


async def _request(suite: StorageBehaviour, storage: MemoryStorage) -> None:
    async def send(method: str, url: str, headers: object) -> bytes:
        location = FakeLinks().location_of(url)
        return b"content" if location.endswith("a b.parquet") else b""

    await suite.test_urls_accept_the_request_they_are_for(storage, storage.put, send, "GET", {})


async def _signed_paths(suite: StorageBehaviour, storage: MemoryStorage) -> None:
    async def send(method: str, url: str, headers: object) -> bytes:
        return b""

    await suite.test_signed_paths_read_the_objects_of_their_directory(storage, storage.put, send, None)


@pytest.mark.parametrize(
    ("kind", "run"),
    [
        (Sorts, _order),
        (IgnoresTheRequest, _request),
        (
            IgnoresTheRequest,
            lambda suite, it: suite.test_locations_outside_are_refused_for_every_request(it),
        ),
        (LivesLong, lambda suite, it: suite.test_urls_expire_no_later_than_asked(it, 60)),
        (SignsAnything, lambda suite, it: suite.test_one_location_outside_refuses_the_whole_batch(it)),
        (DropsDuplicates, lambda suite, it: suite.test_thousands_are_presigned_at_once(it)),
        (SignsAnyPath, lambda suite, it: suite.test_paths_of_directories_outside_are_refused(it)),
        (SignsAnyPath, _signed_paths),
        (OpensAnything, lambda suite, it: suite.test_a_location_outside_is_not_opened(it)),
        (Shows, lambda suite, it: suite.test_its_texts_hide_secrets(it, ["hunter2"])),
        (ClosesOnce, lambda suite, it: suite.test_closing_twice_is_harmless(it)),
    ],
)
async def test_a_faulty_storage_fails_its_suite(kind: type[MemoryStorage], run: Run) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception, RuntimeError)):
        await run(StorageBehaviour(), kind(PREFIX))


class Unsorted(MemoryCatalog):
    async def list_tables(self, schema: str) -> list[str]:
        return list(reversed(await super().list_tables(schema)))


class ListsUnknownSchemas(MemoryCatalog):
    async def list_tables(self, schema: str) -> list[str]:
        return await super().list_tables("eu")


class Slashed(MemoryCatalog):
    async def load_table(self, identifier: str) -> CatalogTable:
        table = await super().load_table(identifier)
        return CatalogTable(table.id, table.format, f"{table.location}/")


class NewIds(MemoryCatalog):
    loads = 0

    async def load_table(self, identifier: str) -> CatalogTable:
        self.loads += 1
        table = await super().load_table(identifier)
        return CatalogTable(str(self.loads), table.format, table.location)


class Crashes(MemoryCatalog):
    async def load_table(self, identifier: str) -> CatalogTable:
        try:
            return await super().load_table(identifier)
        except NotFound:
            raise KeyError(identifier) from None


Check = Callable[[CatalogBehaviour, MemoryCatalog], Awaitable[None]]


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (Unsorted, lambda suite, it: suite.test_tables_are_listed_in_order(it, EXPECTED)),
        (ListsUnknownSchemas, lambda suite, it: suite.test_an_unknown_schema_is_not_found(it)),
        (Slashed, lambda suite, it: suite.test_every_table_loads_from_its_identifier(it, EXPECTED)),
        (
            Slashed,
            lambda suite, it: suite.test_locations_are_absolute_without_a_final_slash(it, EXPECTED),
        ),
        (NewIds, lambda suite, it: suite.test_ids_stay_the_same_and_are_unique(it, EXPECTED)),
        (Crashes, lambda suite, it: suite.test_an_unknown_table_is_not_found(it, "eu.none")),
        (Crashes, lambda suite, it: suite.test_an_odd_identifier_is_not_found(it, "..")),
        (
            MemoryCatalog,
            lambda suite, it: suite.test_names_beyond_ascii_and_with_spaces_load(it, EXPECTED),
        ),
    ],
)
async def test_a_faulty_catalog_fails_its_suite(kind: type[MemoryCatalog], check: Check) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception, KeyError)):
        await check(CatalogBehaviour(), kind(TABLES))
