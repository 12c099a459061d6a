"""Tests for every storage plugin. Inherit the suite in the tests of your plugin.

class TestMyStorage(StorageBehaviour):
    @pytest.fixture
    def storage(self) -> Storage: ...
    @pytest.fixture
    def put(self) -> Put: ...
"""

from __future__ import annotations

import asyncio
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar
from uuid import uuid4

import pytest
import pytest_asyncio
from obstore.exceptions import NotFoundError

from sluicegate.api import (
    CredentialVendor,
    ObjectRequest,
    PermissionDenied,
    Scope,
    Storage,
    url_label,
)
from sluicegate_testing.checks.behaviour import InstanceBehaviour, MakeCalls
from sluicegate_testing.checks.failures import Call, Calls
from sluicegate_testing.checks.object_storage import ObjectStorageBehaviour, Vended
from sluicegate_testing.checks.path_signing import Method, PathSigningBehaviour, Put, Send
from sluicegate_testing.secrets import keep_url_secret
from sluicegate_testing.vending import PRINCIPAL, VendingBehaviour, outside_of

__all__ = [
    "AWKWARD_NAMES",
    "PRINCIPAL",
    "Get",
    "Method",
    "ObjectStorageBehaviour",
    "Put",
    "Send",
    "StorageBehaviour",
    "Symlink",
    "Vended",
]

Get = Callable[[str], Awaitable[bytes]]
Symlink = Callable[[str, Path], Awaitable[None]]

MANY = 5000
SIGNED_HEADERS: Sequence[Mapping[str, str]] = (
    {},
    {"x-amz-checksum-mode": "ENABLED"},
    {"x-amz-te": "append-md5"},
)
AWKWARD_NAMES = (
    "part 1.parquet",
    "a+b&c=d.parquet",
    "100%.parquet",
    "already%20encoded.parquet",
    "date=2024-01-01/part.parquet",
    "Zürich/données-日本.parquet",
    "semi;colon,comma.parquet",
    "quote'(bracket)~.parquet",
    "hash#question?.parquet",
)


@pytest.mark.asyncio
class StorageBehaviour(VendingBehaviour, PathSigningBehaviour, InstanceBehaviour):
    """Inherit it as `Test…`, and provide the fixtures `storage`, `put` and `failing`.

    Override `get` and `secrets` if their defaults are not suitable.

    Attributes:
        awkward_names: Object names that signing and reading must support. Remove only names that the
            store itself does not support.
        can_presign: Set it to `False` if the storage has no URLs for objects, only credentials.
        has_symlinks: Set it to `True` if objects can be symbolic links, because the storage reads a
            file system. Provide the fixture `symlink`.
    """

    awkward_names: ClassVar[Sequence[str]] = AWKWARD_NAMES
    can_presign: ClassVar[bool] = True
    has_symlinks: ClassVar[bool] = False

    @pytest.fixture
    def storage(self) -> Storage:
        """The storage under test; the suite closes it."""
        raise NotImplementedError("provide a fixture 'storage'")

    @pytest.fixture
    def put(self) -> Put:
        """Writes an object to a location without using the storage instance."""
        raise NotImplementedError("provide a fixture 'put': async (location, content) -> None")

    @pytest.fixture
    def get(self) -> Get:
        """Reads a presigned URL as a recipient does. The default is a plain GET."""
        return _http_get

    @pytest.fixture
    def send(self, get: Get) -> Send:
        """Sends a request to a presigned URL, and returns the body of the response.

        The default is a plain HTTP request. If `get` is overridden, the default reads the URL with it.
        It raises `urllib.error.HTTPError` if the store rejects the request.
        """
        return _http_send if get is _http_get else _sender(get)

    @pytest.fixture
    def symlink(self) -> Symlink:
        """Puts a symbolic link to a path of this machine at a location, in place of what is there."""
        if not self.has_symlinks:
            pytest.skip("this storage declares has_symlinks = False")
        raise NotImplementedError("provide a fixture 'symlink': async (location, target) -> None")

    @pytest_asyncio.fixture
    async def subject(self, storage: Storage) -> AsyncIterator[Storage]:
        """The storage, closed at the end."""
        yield storage
        await storage.aclose()

    @pytest.fixture
    def presigning(self, subject: Storage) -> Storage:
        """The storage, if it can presign. Otherwise, the test is skipped."""
        if not self.can_presign:
            pytest.skip("this storage declares can_presign = False")
        return subject

    @pytest.fixture
    def calls(self) -> MakeCalls:
        """All calls of the gateway for a table below the prefix."""

        def calls(storage: Storage) -> Calls:
            location = f"{storage.prefix}called"
            made: dict[str, Call] = {"open": lambda: storage.open(location)}
            if self.can_presign:
                made["presign"] = lambda: storage.presign([f"{location}/file"], 600)
            if isinstance(storage, CredentialVendor):
                made["vend"] = lambda: storage.vend(Scope((location,), 3600, PRINCIPAL))
            return made

        return calls

    @pytest.fixture
    def invalid_calls(self) -> MakeCalls:
        """Calls with invalid locations, or with locations outside of the prefix."""

        def calls(storage: Storage) -> Calls:
            above = f"{storage.prefix}a/../../b"
            locations = [*outside_of(storage.prefix), "", "no location", "://", above]
            made: dict[str, Call] = {}
            for each in locations:
                made[f"open of {each!r}"] = partial(storage.open, each)
                if self.can_presign:
                    made[f"presign of {each!r}"] = partial(storage.presign, [each], 600)
                if isinstance(storage, CredentialVendor):
                    made[f"vend for {each!r}"] = partial(storage.vend, Scope((each,), 3600, PRINCIPAL))
            return made

        return calls

    async def test_the_prefix_is_a_location_with_a_slash_at_its_end(self, subject: Storage) -> None:
        assert "://" in subject.prefix
        assert subject.prefix.endswith("/")

    async def test_presigned_urls_are_in_the_order_asked(
        self, presigning: Storage, put: Put, get: Get
    ) -> None:
        names = ["c", "a", "b"]
        for name in names:
            await put(f"{presigning.prefix}order/{name}", name.encode())
        locations = [f"{presigning.prefix}order/{name}" for name in [*names, "a"]]
        presigned = await presigning.presign(locations, 600)
        keep_url_secret(*presigned.urls)
        assert [await get(url) for url in presigned.urls] == [b"c", b"a", b"b", b"a"]

    async def test_awkward_names_are_readable_through_their_urls(
        self, presigning: Storage, put: Put, get: Get
    ) -> None:
        locations = [f"{presigning.prefix}awkward/{name}" for name in self.awkward_names]
        for location in locations:
            await put(location, location.encode())
        presigned = await presigning.presign(locations, 600)
        read = [(await get(url)).decode() for url in presigned.urls]
        assert read == locations

    @pytest.mark.parametrize("method", ["GET", "HEAD"])
    @pytest.mark.parametrize("headers", SIGNED_HEADERS)
    async def test_urls_accept_the_request_they_are_for(
        self, presigning: Storage, put: Put, send: Send, method: Method, headers: Mapping[str, str]
    ) -> None:
        location = f"{presigning.prefix}requested/a b.parquet"
        await put(location, b"content")
        request = ObjectRequest(method, headers)
        presigned = await presigning.presign_request(request, [location], 600)
        keep_url_secret(*presigned.urls)
        assert time.time() * 1000 < presigned.expires_at <= (time.time() + 600) * 1000
        assert await send(method, presigned.urls[0], headers) == (
            b"content" if method == "GET" else b""
        )

    async def test_urls_for_head_read_nothing_if_the_storage_binds_the_method(
        self, presigning: Storage, put: Put, send: Send
    ) -> None:
        if not presigning.binds_method:
            pytest.skip("this storage declares binds_method = False, and the gateway counts its URLs")
        location = f"{presigning.prefix}bound/part.parquet"
        await put(location, b"content")
        presigned = await presigning.presign_request(ObjectRequest("HEAD"), [location], 600)
        keep_url_secret(*presigned.urls)
        with pytest.raises(OSError, match=r"HTTP Error 4\d\d"):
            await send("GET", presigned.urls[0], {})

    async def test_a_label_does_not_change_what_urls_read(
        self, presigning: Storage, put: Put, get: Get
    ) -> None:
        locations = [f"{presigning.prefix}labelled/{name}" for name in self.awkward_names]
        for location in locations:
            await put(location, location.encode())
        request = ObjectRequest(label=url_label(str(uuid4())))
        presigned = await presigning.presign_request(request, locations, 600)
        keep_url_secret(*presigned.urls)
        assert [(await get(url)).decode() for url in presigned.urls] == locations

    async def test_locations_outside_are_refused_for_every_request(self, presigning: Storage) -> None:
        for outside in outside_of(presigning.prefix):
            with pytest.raises(PermissionDenied):
                await presigning.presign_request(ObjectRequest("HEAD"), [outside], 600)

    async def test_thousands_are_presigned_at_once(self, presigning: Storage) -> None:
        locations = [f"{presigning.prefix}many/part-{index:05}.parquet" for index in range(MANY)]
        presigned = await presigning.presign(locations, 600)
        assert len(presigned.urls) == MANY
        assert len(set(presigned.urls)) == MANY

    async def test_nothing_asked_is_nothing_presigned(self, presigning: Storage) -> None:
        assert (await presigning.presign([], 600)).urls == []

    @pytest.mark.parametrize("lifetime", [60, 3600])
    async def test_urls_expire_no_later_than_asked(self, presigning: Storage, lifetime: int) -> None:
        before = time.time()
        presigned = await presigning.presign([f"{presigning.prefix}expiry"], lifetime)
        assert before * 1000 < presigned.expires_at <= (time.time() + lifetime) * 1000

    async def test_one_location_outside_refuses_the_whole_batch(self, presigning: Storage) -> None:
        for outside in outside_of(presigning.prefix):
            with pytest.raises(PermissionDenied):
                await presigning.presign([f"{presigning.prefix}inside", outside], 600)

    async def test_presigned_urls_are_not_shown(self, presigning: Storage) -> None:
        presigned = await presigning.presign([f"{presigning.prefix}shown"], 600)
        assert presigned.urls[0] not in repr(presigned)

    async def test_an_opened_directory_lists_and_reads(self, subject: Storage, put: Put) -> None:
        await put(f"{subject.prefix}table/_delta_log/0.json", b"zero")
        await put(f"{subject.prefix}table/part.parquet", b"part")
        directory = await subject.open(f"{subject.prefix}table")
        found = await directory.store.list(directory.key("")).collect_async()
        expected = {directory.key("_delta_log/0.json"), directory.key("part.parquet")}
        assert {entry["path"] for entry in found} == expected
        answer = await directory.store.get_async(directory.key("_delta_log/0.json"))
        assert bytes(await answer.bytes_async()) == b"zero"

    async def test_a_trailing_slash_opens_the_same_directory(self, subject: Storage) -> None:
        plain = await subject.open(f"{subject.prefix}table")
        slashed = await subject.open(f"{subject.prefix}table/")
        assert plain.key("x") == slashed.key("x")

    async def test_a_missing_directory_is_empty(self, subject: Storage) -> None:
        directory = await subject.open(f"{subject.prefix}no/such/table")
        assert await directory.store.list(directory.key("")).collect_async() == []
        with pytest.raises((FileNotFoundError, NotFoundError)):
            await directory.store.get_async(directory.key("_delta_log/0.json"))

    async def test_a_location_outside_is_not_opened(self, subject: Storage) -> None:
        for outside in outside_of(subject.prefix):
            with pytest.raises(PermissionDenied):
                await subject.open(outside)

    @pytest.mark.parametrize("name", ["", "_delta_log", "_delta_log/0.json"])
    async def test_nothing_is_read_through_a_symbolic_link(
        self,
        subject: Storage,
        put: Put,
        symlink: Symlink,
        tmp_path_factory: pytest.TempPathFactory,
        name: str,
    ) -> None:
        """The link replaces a file or directory after the table was opened, as in a race."""
        outside = tmp_path_factory.mktemp("outside")
        (outside / "_delta_log").mkdir()
        (outside / "_delta_log" / "0.json").write_bytes(b"secret")
        await put(f"{subject.prefix}table/_delta_log/0.json", b"zero")
        directory = await subject.open(f"{subject.prefix}table")
        await symlink(f"{subject.prefix}table/{name}".rstrip("/"), outside / name)
        store, key = directory.store, directory.key("_delta_log/0.json")
        reads: list[Callable[[], Awaitable[object]]] = [
            partial(store.get_async, key),
            partial(store.head_async, key),
            partial(store.get_range_async, key, start=0, end=6),
            partial(subject.open, f"{subject.prefix}table/_delta_log/0.json"),
        ]
        if not name.endswith("0.json"):
            reads.append(store.list(directory.key("_delta_log")).collect_async)
        for read in reads:
            with pytest.raises(PermissionDenied):
                await read()

    async def test_many_use_it_at_once(self, subject: Storage, put: Put) -> None:
        await put(f"{subject.prefix}shared/file", b"content")
        opened = await asyncio.gather(*(subject.open(f"{subject.prefix}shared") for _ in range(32)))
        answers = await asyncio.gather(*(each.store.get_async(each.key("file")) for each in opened))
        assert {bytes(await answer.bytes_async()) for answer in answers} == {b"content"}


async def _http_get(url: str) -> bytes:
    def read() -> bytes:
        with urllib.request.urlopen(url) as answer:  # noqa: S310 - URLs that the storage signed
            return bytes(answer.read())

    return await asyncio.to_thread(read)


def _sender(get: Get) -> Send:
    async def send(method: Method, url: str, headers: Mapping[str, str]) -> bytes:
        content = await get(url)
        return content if method == "GET" else b""

    return send


async def _http_send(method: Method, url: str, headers: Mapping[str, str]) -> bytes:
    def sent() -> bytes:
        request = urllib.request.Request(url, headers=dict(headers), method=method)  # noqa: S310 - as above
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            return bytes(answer.read())

    return await asyncio.to_thread(sent)
