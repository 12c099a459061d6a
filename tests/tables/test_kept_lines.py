"""Responses from kept texts of lines are byte for byte those that are encoded for the request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote

import pytest
from support.gateways.cached_queries import ALL, CachedQueries
from support.gateways.memory_gateway import memory_gateway, shared_table
from support.gateways.memory_grants import ACME
from support.gateways.memory_instances import SigningStorage
from support.process.random_cases import cases, one_of
from support.tables.deltalog import DeltaFolder
from support.tables.random_log import RandomTable
from support.tables.reader_tables.tables import ReaderTables, served_tables
from support.tables.snapshots import latest

from sluicegate.api import (
    ObjectRequest,
    PathSigner,
    Presigned,
    SharedTable,
    SignedPaths,
    SluicegateError,
    TemporaryCredentials,
)
from sluicegate.protocols.delta_sharing.request import QueryRequest, TimeTravel
from sluicegate.tables.features import READER_FEATURES
from sluicegate.tables.reading.encoded_blocks import EncodedBlocks
from sluicegate.tables.snapshot import Snapshot

READABLE = [name for name, served in served_tables().items() if not served.unreadable]
FEATURES = ",".join(sorted(READER_FEATURES))
ROOM = 1 << 20
# The format of the response, and the hash of its file ids.
FORMS = ((None, None), ("delta", None), (None, "delta"), ("delta", "parquet"))
SHARED = shared_table(history=True)
GERMAN = shared_table(history=True, partition_filter="country = 'DE'")


class PathSigningStorage(SigningStorage, PathSigner):
    """Signs URLs of encoded locations, also in parts."""

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """URLs of encoded locations."""
        signed = await super().presign(locations, expires_in, credentials)
        return replace(signed, urls=[_encoded(location) + "?signed" for location in locations])

    async def sign_paths(
        self,
        request: ObjectRequest,
        directory: str,
        paths: Sequence[bytes],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> SignedPaths:
        """The same URLs in parts."""
        signed = ["signed"] * len(paths)
        return SignedPaths(_encoded(directory), "?", signed, self.expires_at)


def _encoded(location: str) -> str:
    return f"https://store.example/{quote(location.partition('://')[2], safe='/~')}"


def queries(storage: SigningStorage, room: int) -> CachedQueries:
    """Queries whose entire responses are not cached, with room for the texts of lines."""
    gateway = memory_gateway(SHARED, GERMAN, storage=storage)
    return CachedQueries(gateway, SHARED, budget=0, encoded=EncodedBlocks(room))


async def answered(
    served: CachedQueries,
    form: tuple[str | None, str | None],
    request: QueryRequest,
    shared: SharedTable,
) -> bytes:
    name, file_ids = form
    header = None if name is None else f"responseformat={name};readerfeatures={FEATURES}"
    try:
        return await served.body(request, ACME, header=header, file_ids=file_ids, shared=shared)
    except SluicegateError as error:
        return repr(error).encode()


async def check(
    storage: type[SigningStorage],
    snapshots: Sequence[Snapshot],
    shares: Sequence[SharedTable] = (SHARED,),
) -> bool:
    """Compare responses about the versions of a table, and return whether texts were kept."""
    kept, fresh = queries(storage(), ROOM), queries(storage(), 0)
    for number, snapshot in enumerate(snapshots, start=1):
        for served in (kept, fresh):
            served.gateway.format.versions = snapshots[:number]
        travel = TimeTravel(version=snapshot.version)
        requests = [ALL, replace(ALL, travel=travel), replace(ALL, limit=3)]
        for form in FORMS:
            for shared in shares:
                for request in requests:
                    expected = await answered(fresh, form, request, shared)
                    for _ in range(3):
                        assert await answered(kept, form, request, shared) == expected
    assert fresh.encoded.nbytes == 0
    return kept.encoded.nbytes > 0


@pytest.mark.parametrize("storage", [SigningStorage, PathSigningStorage])
@pytest.mark.parametrize(
    "name", one_of(3, READABLE, pytest.mark.night("test_responses_about_a_changing_table_stay_equal"))
)
async def test_responses_about_every_table_are_equal(
    tables: ReaderTables, name: str, storage: type[SigningStorage]
) -> None:
    await check(storage, [await latest(DeltaFolder(tables.table(name).location))])


@pytest.mark.parametrize("storage", [SigningStorage, PathSigningStorage])
@pytest.mark.parametrize("seed", range(cases(12)))
async def test_responses_about_a_changing_table_stay_equal(
    folder: DeltaFolder, seed: int, storage: type[SigningStorage]
) -> None:
    table = RandomTable(folder, seed)
    snapshots: list[Snapshot] = []
    for _ in range(12):
        table.commit()
        snapshots.append(await latest(folder, snapshots[-1] if snapshots else None))
    assert await check(storage, snapshots, (SHARED, GERMAN))
