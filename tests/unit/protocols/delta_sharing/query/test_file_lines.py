"""Files of a snapshot become lines with presigned URLs, in the negotiated format."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from support.gateways.memory_gateway import MemoryGateway, memory_gateway, shared_table
from support.gateways.memory_grants import ACME
from support.gateways.memory_instances import EXPIRES, LAKE, url_of
from support.tables.memory_tables import (
    WITH_VECTORS,
    MemoryFormat,
    Row,
    file,
    file_rows,
    snapshot,
    time_of,
)

from sluicegate.api import StorageError, TableUnreadable
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate.protocols.delta_sharing.negotiation import parse
from sluicegate.protocols.delta_sharing.query.file_lines import FileLines
from sluicegate.protocols.delta_sharing.request import ResponseOptions, TimeTravel
from sluicegate.protocols.delta_sharing.view import Viewer
from sluicegate.tables.snapshot import FileChunk, FileSet

ROOT = f"{LAKE}/orders"
DELTA = "responseformat=delta;readerfeatures=deletionvectors"
STORED = {"storageType": "p", "pathOrInlineDv": f"{ROOT}/v.bin", "sizeInBytes": 1, "cardinality": 1}


@pytest.fixture
def gateway() -> MemoryGateway:
    versions = [snapshot(file("a"), version=2, protocol=WITH_VECTORS)]
    return memory_gateway(format=MemoryFormat(versions))


async def file_lines(
    gateway: MemoryGateway,
    header: str | None = None,
    *,
    travel: TimeTravel | None = None,
    hash_: str | None = None,
) -> FileLines:
    viewer = Viewer(gateway.resolver, gateway.reader, DirectoryAccess(gateway.instances))
    form = ResponseOptions(parse(header), hash_)
    shared = shared_table(history=True)
    view = await viewer.view(ACME, shared, form, travel=travel or TimeTravel())
    return FileLines(gateway.signer, view, gateway.reader.encoded)


async def encoded(lines: FileLines, *rows: Row) -> list[dict[str, Any]]:
    written = await lines.encode(file_rows(*rows))
    return [json.loads(line)["file"] for line in written.splitlines()]


async def test_parquet_lines_have_urls_and_ids(gateway: MemoryGateway) -> None:
    lines = await file_lines(gateway)
    found = await encoded(lines, file("b"), file("a"))
    assert [line["url"] for line in found] == [url_of(f"{ROOT}/b"), url_of(f"{ROOT}/a")]
    assert [line["id"] for line in found] == [hashlib.md5(path).hexdigest() for path in (b"b", b"a")]
    assert "version" not in found[0]
    assert lines.expires_at == EXPIRES


@pytest.mark.parametrize("header", [None, DELTA])
async def test_lines_carry_the_version_of_time_travel(
    gateway: MemoryGateway, header: str | None
) -> None:
    lines = await file_lines(gateway, header, travel=TimeTravel(version=2))
    (found,) = await encoded(lines, file("a"))
    assert (found["version"], found["timestamp"]) == (2, time_of(2))


@pytest.mark.parametrize("header", [None, DELTA])
@pytest.mark.parametrize(("hash_", "name"), [("parquet", "md5"), ("delta", "sha256")])
async def test_the_client_chooses_the_hash_of_ids(
    gateway: MemoryGateway, header: str | None, hash_: str, name: str
) -> None:
    (found,) = await encoded(await file_lines(gateway, header, hash_=hash_), file("a"))
    assert found["id"] == hashlib.new(name, b"a").hexdigest()


async def test_delta_lines_have_signed_vectors(gateway: MemoryGateway) -> None:
    lines = await file_lines(gateway, DELTA)
    plain, deleted = await encoded(lines, file("a"), file("b", deletion_vector=STORED))
    assert "deletionVector" not in plain["deltaSingleAction"]["add"]
    action = deleted["deltaSingleAction"]["add"]
    assert action["path"] == url_of(f"{ROOT}/b")
    assert action["deletionVector"]["pathOrInlineDv"] == url_of(f"{ROOT}/v.bin")


@pytest.mark.parametrize("header", [None, DELTA])
@pytest.mark.parametrize(
    ("unlike", "kept"),
    [
        ({}, (True, True)),
        ({"path": f"{LAKE}/orders/b"}, (False, False)),
        ({"deletion_vector": STORED}, (True, False)),
    ],
)
async def test_lines_without_other_urls_are_kept(
    gateway: MemoryGateway, header: str | None, unlike: Row, kept: tuple[bool, bool]
) -> None:
    (batch,) = file_rows(file("a"), {**file("b"), **unlike}).to_batches()
    files, found = FileSet.of([FileChunk.of(batch)]), []
    for _ in range(3):
        lines = await file_lines(gateway, header)
        found.append([await lines.encode(block) for block in files.blocks(10)])
    assert found[0] == found[1] == found[2]
    assert (gateway.reader.encoded.nbytes > 0) is kept[header == DELTA]


async def test_before_any_url_there_is_no_expiry(gateway: MemoryGateway) -> None:
    assert (await file_lines(gateway)).expires_at is None


async def test_all_batches_are_one_entry_of_the_ledger(gateway: MemoryGateway) -> None:
    lines = await file_lines(gateway)
    await encoded(lines, file("a"))
    await encoded(lines, file("b"))
    assert [entry.files for entry in gateway.ledger.noted] == [1, 2]
    assert len({entry.id for entry in gateway.ledger.noted}) == 1


async def test_a_store_that_cannot_sign_is_an_error(gateway: MemoryGateway) -> None:
    gateway.storage.failure = StorageError("the store is down")
    with pytest.raises(StorageError):
        await encoded(await file_lines(gateway), file("a"))


async def test_a_malformed_vector_is_an_error_of_the_table(gateway: MemoryGateway) -> None:
    broken = file("a", deletion_vector={"storageType": "?", "pathOrInlineDv": "x"})
    with pytest.raises(TableUnreadable):
        await encoded(await file_lines(gateway, DELTA), broken)
