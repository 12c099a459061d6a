"""A storage with one mistake in each suite; `caught_by` names the check that must find it."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import obstore
import pytest
from testing.broken_plugins.upstream import Client, inventory

from sluicegate.api import (
    ObjectDirectory,
    Presigned,
    Storage,
    StorageError,
    TemporaryCredentials,
    Unavailable,
)
from sluicegate_testing.fakes import FakeLinks, MemoryStorage
from sluicegate_testing.storage import Get, Put, StorageBehaviour

PREFIX = "memory://lake/"


class Signed(MemoryStorage):
    """A correct storage whose server must agree to each signature."""

    def __init__(self, url: str) -> None:
        super().__init__(PREFIX, FakeLinks(PREFIX))
        self.signer = Client(url)

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        signed = await super().presign(locations, expires_in)
        await self.agree()
        return signed

    async def agree(self) -> None:
        try:
            await self.signer.get("/regions")
        except Unavailable as error:
            raise StorageError(error.message, detail=error.detail) from error

    async def aclose(self) -> None:
        await self.signer.aclose()


class TestSigned(StorageBehaviour):
    """The correct one passes all checks."""

    caught_by: ClassVar[str | None] = None
    kind: ClassVar[type[Signed]] = Signed

    @pytest.fixture
    def url(self) -> Iterator[str]:
        with inventory() as url:
            yield url

    @pytest.fixture
    def storage(self, url: str) -> Storage:
        return self.kind(url)

    @pytest.fixture
    def failing(self, failing_servers: Mapping[str, str]) -> Mapping[str, Storage]:
        return {how: self.kind(url) for how, url in failing_servers.items()}

    @pytest.fixture
    def put(self, storage: MemoryStorage) -> Put:
        return storage.put

    @pytest.fixture
    def get(self, storage: MemoryStorage) -> Get:
        async def read(url: str) -> bytes:
            opened = await storage.open(FakeLinks(PREFIX).location_of(url))
            answer = await obstore.get_async(opened.store, opened.key(""))
            return bytes(await answer.bytes_async())

        return read


class Sorts(Signed):
    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        return await super().presign(sorted(locations), expires_in)


class TestSorts(TestSigned):
    caught_by = "test_presigned_urls_are_in_the_order_asked"
    kind = Sorts


class ClaimsToBind(Signed):
    binds_method = True


class TestClaimsToBind(TestSigned):
    caught_by = "test_urls_for_head_read_nothing_if_the_storage_binds_the_method"
    kind = ClaimsToBind


class LivesLong(Signed):
    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        return await super().presign(locations, expires_in * 2)


class TestLivesLong(TestSigned):
    caught_by = "test_urls_expire_no_later_than_asked"
    kind = LivesLong


class SignsAnything(Signed):
    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        await self.agree()
        return FakeLinks().sign(locations, expires_in)


class TestSignsAnything(TestSigned):
    caught_by = "test_one_location_outside_refuses_the_whole_batch"
    kind = SignsAnything


class OpensAnything(Signed):
    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        return ObjectDirectory(self.store, location)


class TestOpensAnything(TestSigned):
    caught_by = "test_a_location_outside_is_not_opened"
    kind = OpensAnything


class ConnectsOnTheLoop(Signed):
    async def agree(self) -> None:
        host, _, port = self.signer.url.removeprefix("http://").partition(":")
        try:
            socket.create_connection((host, int(port))).close()
        except OSError as error:
            raise StorageError("the signer does not respond; try again later") from error
        await super().agree()


class TestConnectsOnTheLoop(TestSigned):
    caught_by = "test_nothing_blocks_the_event_loop"
    kind = ConnectsOnTheLoop


class RaisesAsItsLibrary(Signed):
    async def agree(self) -> None:
        answer = await self.signer.send("/regions")
        if answer.status != 200:
            raise ValueError(f"status {answer.status}")


class TestRaisesAsItsLibrary(TestSigned):
    caught_by = "test_errors_are_those_of_the_api"
    kind = RaisesAsItsLibrary


class SecretInTheMessage(Signed):
    async def agree(self) -> None:
        try:
            await super().agree()
        except StorageError as error:
            token = self.signer.token.get_secret_value()
            raise StorageError(f"the signer does not know the token {token}") from error


class TestSecretInTheMessage(TestSigned):
    caught_by = "test_errors_hide_secrets"
    kind = SecretInTheMessage


class SecretInItsRepr(Signed):
    def __repr__(self) -> str:
        return f"SecretInItsRepr({self.signer.token.get_secret_value()})"


class TestSecretInItsRepr(TestSigned):
    caught_by = "test_its_texts_hide_secrets"
    kind = SecretInItsRepr


class SignsWithoutTheServer(Signed):
    async def agree(self) -> None:
        try:
            await super().agree()
        except StorageError:
            return


class TestSignsWithoutTheServer(TestSigned):
    caught_by = "test_an_outage_is_unavailable"
    kind = SignsWithoutTheServer


class ClosesOnce(Signed):
    closed = False

    async def aclose(self) -> None:
        if self.closed:
            raise RuntimeError("closed already")
        self.closed = True
        await super().aclose()


class TestClosesOnce(TestSigned):
    caught_by = "test_closing_twice_is_harmless"
    kind = ClosesOnce
