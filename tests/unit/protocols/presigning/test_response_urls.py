"""The URLs of one response: each path once, deletion vectors, the first expiry, and the record."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from support.gateways.memory_gateway import PUBLIC_URL, MemoryGateway, memory_gateway, shared_table
from support.gateways.memory_instances import EXPIRES, LAKE, url_of

from sluicegate.api import TableUnreadable, url_label
from sluicegate.protocols.presigning.response_urls import Urls
from sluicegate.tables.derived_files import DERIVED, DerivedFile
from sluicegate.tables.snapshot import DELETION_VECTOR

ROOT = f"{LAKE}/orders"
INLINE = {"storageType": "i", "pathOrInlineDv": "x"}
STORED = {"storageType": "p", "pathOrInlineDv": f"{ROOT}/v.bin"}
RELATIVE = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^"}
RELATIVE_FILE = f"{ROOT}/ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
GENERATED = DerivedFile.of(b"rows", "recipe")


@pytest.fixture
def gateway() -> MemoryGateway:
    return memory_gateway()


@pytest.fixture
async def urls(gateway: MemoryGateway) -> Urls:
    return Urls(gateway.signer, await gateway.open(shared_table()))


def vectors(*values: dict[str, Any] | None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, DELETION_VECTOR)])


def signed(gateway: MemoryGateway) -> list[list[str]]:
    return [locations for locations, _ in gateway.storage.signed]


async def test_repeated_paths_are_signed_once(urls: Urls, gateway: MemoryGateway) -> None:
    found = await urls.of_each(["b", "a", "b"])
    assert found.urls == [url_of(f"{ROOT}/{path}") for path in "bab"]
    assert found.expires_at == EXPIRES
    assert signed(gateway) == [[f"{ROOT}/b", f"{ROOT}/a"]]


async def test_distinct_paths_are_signed_in_their_order(urls: Urls, gateway: MemoryGateway) -> None:
    assert (await urls.of_each(["b", "a"])).urls == (await urls.of(["b", "a"])).urls
    assert signed(gateway) == [[f"{ROOT}/b", f"{ROOT}/a"]] * 2


async def test_the_first_expiry_counts(urls: Urls, gateway: MemoryGateway) -> None:
    assert urls.expires_at is None
    for expires_at, first in ((EXPIRES, EXPIRES), (EXPIRES - 5, EXPIRES - 5), (EXPIRES, EXPIRES - 5)):
        gateway.storage.expires_at = expires_at
        await urls.of(["a"])
        assert urls.expires_at == first


async def test_all_urls_have_the_label_of_the_entry_unless_they_can_be_shared(
    urls: Urls, gateway: MemoryGateway
) -> None:
    await urls.of(["a"])
    await urls.of(["b", f"{ROOT}/c"])
    (entry,) = {each.id for each in gateway.ledger.noted}
    assert gateway.storage.labels == [url_label(entry)] * 2
    shared = Urls(gateway.signer, await gateway.open(shared_table()), shareable=True)
    assert (await shared.of(["a"])).urls == (await urls.of(["a"])).urls
    assert gateway.storage.labels == [url_label(entry)] * 3


async def test_the_ledger_has_one_entry_that_grows(urls: Urls, gateway: MemoryGateway) -> None:
    await urls.of(["a", "b"])
    await urls.of([])
    await urls.of_each(["c", "c"])
    first, second = gateway.ledger.noted
    assert first.id == second.id
    assert (first.files, second.files) == (2, 3)


@pytest.mark.parametrize("values", [(), (None, None), (INLINE,)])
async def test_without_vector_files_nothing_is_signed(
    urls: Urls, gateway: MemoryGateway, values: tuple[Any, ...]
) -> None:
    assert await urls.of_vectors(vectors(*values)) == {}
    assert (signed(gateway), gateway.ledger.noted) == ([], [])


async def test_vector_files_are_found_by_row(urls: Urls, gateway: MemoryGateway) -> None:
    found = await urls.of_vectors(vectors(INLINE, STORED, None, RELATIVE, STORED))
    stored = (f"{ROOT}/v.bin", url_of(f"{ROOT}/v.bin"))
    assert found == {1: stored, 3: (RELATIVE_FILE, url_of(RELATIVE_FILE)), 4: stored}
    assert signed(gateway) == [[f"{ROOT}/v.bin", RELATIVE_FILE]]


async def test_generated_vectors_are_links_that_are_named_by_their_digest(
    urls: Urls, gateway: MemoryGateway
) -> None:
    generated = {"storageType": DERIVED, "pathOrInlineDv": str(GENERATED)}
    found = await urls.of_vectors(vectors(generated, STORED))
    assert found[1][0] == f"{ROOT}/v.bin"
    digest, url = found[0]
    assert digest == GENERATED.digest
    assert url.startswith(f"{PUBLIC_URL}/content/~derived/")
    assert [entry.files for entry in gateway.ledger.noted] == [1, 2]
    assert urls.expires_at is not None
    assert urls.expires_at < EXPIRES


@pytest.mark.parametrize(
    "vector",
    [
        {"storageType": None, "pathOrInlineDv": "x"},
        {"storageType": "p", "pathOrInlineDv": None},
        {"storageType": "z", "pathOrInlineDv": "x"},
        {"storageType": "u", "pathOrInlineDv": "short"},
        {"storageType": DERIVED, "pathOrInlineDv": "no digest"},
    ],
)
async def test_a_malformed_vector_is_an_error_of_the_table(
    urls: Urls, gateway: MemoryGateway, vector: dict[str, Any]
) -> None:
    with pytest.raises(TableUnreadable):
        await urls.of_vectors(vectors(STORED, vector))
    assert signed(gateway) == []
