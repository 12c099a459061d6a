"""Which texts of lines are kept for further responses, and of which files a response has them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from support.gateways.memory_gateway import memory_gateway, shared_table
from support.gateways.memory_grants import ACME
from support.tables.memory_tables import WITH_VECTORS, MemoryFormat, Row, file, snapshot

from sluicegate.protocols.common.column_values import encoded_texts
from sluicegate.protocols.delta_sharing.capabilities import parse
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate.protocols.delta_sharing.query.kept_texts import KeptTexts
from sluicegate.protocols.delta_sharing.request import ResponseOptions, TimeTravel
from sluicegate.protocols.delta_sharing.view import View, Viewer
from sluicegate.tables.reading.encoded_blocks import EncodedBlocks
from sluicegate.tables.snapshot import FileSet

VECTOR = {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}
DELTA = "responseformat=delta;readerfeatures=deletionvectors"
FILES = [file(f"a={number}") for number in range(16)]


class Kept:
    """Texts that are kept, with counts of the rows that were encoded."""

    def __init__(self) -> None:
        self.blocks = EncodedBlocks(1 << 20)
        self.encoded: list[int] = []

    def texts(
        self, view: View, live: Sequence[bool] | None = None
    ) -> list[list[Sequence[bytes]] | None]:
        """The texts of the blocks of a response."""
        files = view.files
        assert isinstance(files, FileSet)
        files = files if live is None else files.where(pa.array(live))
        texts = KeptTexts(self.blocks, view, self._encode)
        return [texts.of(block) for block in files.blocks(8)]

    def _encode(self, files: pa.Table) -> tuple[Sequence[bytes], ...]:
        self.encoded.append(files.num_rows)
        return ([b"<" + path + b">" for path in encoded_texts(files.column("path"))],)


async def view_of(*rows: Row, header: str | None = None, hash_name: str | None = None) -> View:
    versions = [snapshot(*rows, version=2, protocol=WITH_VECTORS)]
    gateway = memory_gateway(format=MemoryFormat(versions))
    viewer = Viewer(gateway.resolver, gateway.reader, DirectoryAccess(gateway.instances))
    form = ResponseOptions(parse(header), hash_name)
    return await viewer.view(ACME, shared_table(), form, travel=TimeTravel())


async def test_the_third_response_encodes_nothing() -> None:
    kept, view = Kept(), await view_of(*FILES)
    assert kept.texts(view) == [None, None]
    second, third = kept.texts(view), kept.texts(view)
    assert kept.encoded == [8, 8]
    assert second == third
    assert third[0] is not None
    assert third[0][0][:2] == [b"a%3D0", b"a%3D1"]
    assert third[0][1][:2] == [b"<a=0>", b"<a=1>"]


async def test_a_response_has_the_texts_of_the_files_that_it_selects() -> None:
    kept, view = Kept(), await view_of(*FILES)
    kept.texts(view)
    odd = kept.texts(view, [number % 2 == 1 for number in range(16)])
    assert kept.encoded == [8, 8]
    assert odd[1] == [
        [b"a%3D9", b"a%3D11", b"a%3D13", b"a%3D15"],
        [b"<a=9>", b"<a=11>", b"<a=13>", b"<a=15>"],
    ]


async def test_few_files_of_a_block_are_not_worth_encoding_all() -> None:
    kept, view = Kept(), await view_of(*FILES)
    few = [number % 8 < 3 for number in range(16)]
    assert kept.texts(view, few) == kept.texts(view, few) == [None, None]
    kept.texts(view)
    assert kept.texts(view, few) == [
        [[b"a%3D0", b"a%3D1", b"a%3D2"], [b"<a=0>", b"<a=1>", b"<a=2>"]],
        [[b"a%3D8", b"a%3D9", b"a%3D10"], [b"<a=8>", b"<a=9>", b"<a=10>"]],
    ]


@pytest.mark.parametrize("path", ["s3://elsewhere/a", "../a"])
async def test_paths_outside_of_the_table_are_not_kept(path: str) -> None:
    kept, view = Kept(), await view_of(file("a"), file(path))
    assert [kept.texts(view) for _ in range(3)] == [[None]] * 3


@pytest.mark.parametrize("vectors", [[VECTOR, None], [None, None]])
async def test_lines_with_deletion_vectors_are_not_kept(vectors: Sequence[object]) -> None:
    rows = [file(f"a{number}", deletion_vector=each) for number, each in enumerate(vectors)]
    kept, view = Kept(), await view_of(*rows, header=DELTA)
    kept.texts(view)
    assert (kept.texts(view) == [None]) is (vectors[0] is not None)


async def test_texts_are_those_of_one_format_and_hash() -> None:
    kept, first = Kept(), await view_of(*FILES)
    views = [first]
    for header, hash_name in ((DELTA, None), (None, "delta")):
        other = await view_of(*FILES, header=header, hash_name=hash_name)
        views.append(
            View(**{name: getattr(other, name) for name in View.__slots__} | {"files": first.files})
        )
    for view in views * 3:
        kept.texts(view)
    assert kept.encoded == [8, 8] * 3
