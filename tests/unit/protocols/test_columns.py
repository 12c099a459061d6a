"""Columns are joined row by row."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pyarrow as pa
from support.tables.memory_tables import file, file_rows

from sluicegate.protocols.columns import KeptTexts, encoded_texts
from sluicegate.protocols.joined_columns import JoinedColumns
from sluicegate.tables.reading.encoded_blocks import EncodedBlocks
from sluicegate.tables.snapshot import FileChunk, FileSet


def test_rows_have_the_texts_between_their_columns() -> None:
    columns = JoinedColumns((b"<", b"=", b">\n"), ([b"a", b"b"], [b"1", b"2"]))
    assert columns.joined() == b"<a=1>\n<b=2>\n"


def test_sums_have_the_columns_of_both() -> None:
    start, end = JoinedColumns((b"[",)), JoinedColumns((b"]",))
    columns = (
        start
        + JoinedColumns.of([b"a", b"b"])
        + JoinedColumns((b",",))
        + JoinedColumns.of([b"1", b"2"])
        + end
    )
    assert columns.joined() == b"[a,1][b,2]"


def test_no_rows_are_nothing() -> None:
    assert JoinedColumns((b"[", b"]"), ([],)).joined() == b""


ROWS = 16
(BATCH,) = file_rows(*(file(str(number)) for number in range(ROWS))).to_batches()


class Kept:
    """Texts that are kept, with the number of blocks that were encoded."""

    def __init__(self) -> None:
        self.blocks = EncodedBlocks(1 << 20)
        self.files = FileSet.of([FileChunk.of(BATCH)])
        self.encoded = 0
        self.same = True

    def texts(
        self, live: Sequence[bool] | None = None, encoding: Hashable = "lines"
    ) -> list[list[Sequence[bytes]] | None]:
        """The texts of the blocks of a response."""
        files = self.files if live is None else self.files.where(pa.array(live))
        texts = KeptTexts(self.blocks, encoding, self._encode)
        return [texts.of(block) for block in files.blocks(ROWS // 2)]

    def _encode(self, files: pa.Table) -> Sequence[Sequence[bytes]] | None:
        self.encoded += 1
        paths = encoded_texts(files.column("path"))
        return (paths, [b"<" + path + b">" for path in paths]) if self.same else None


def test_the_third_response_encodes_nothing() -> None:
    kept = Kept()
    assert kept.texts() == [None, None]
    assert kept.encoded == 0
    second = kept.texts()
    assert second == kept.texts()
    assert kept.encoded == 2
    assert second[0] is not None
    assert [column[:2] for column in second[0]] == [[b"0", b"1"], [b"<0>", b"<1>"]]


def test_a_response_has_the_texts_of_its_files() -> None:
    kept = Kept()
    kept.texts()
    odd = kept.texts([number % 2 == 1 for number in range(ROWS)])
    assert odd[1] == [[b"9", b"11", b"13", b"15"], [b"<9>", b"<11>", b"<13>", b"<15>"]]
    assert kept.encoded == 2
    assert kept.texts()[1] is not None
    assert kept.encoded == 2


def test_texts_are_not_used_for_files_that_have_got_deletion_vectors() -> None:
    kept = Kept()
    without = FileChunk.of(BATCH)
    column = without.plain.schema.get_field_index("deletion_vector")
    field = without.plain.schema.field(column)
    vector = {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}
    vectors = pa.array([vector] + [None] * (ROWS - 1), field.type)
    # A version with deleted rows has everything else in common with the one before.
    later = FileChunk(without.plain.set_column(column, field, vectors), without.stats)
    kept.files = FileSet.of([without])
    for _ in range(3):
        assert kept.texts() is not None
    kept.files = FileSet.of([later])
    assert kept.texts()[0] is None
    assert kept.texts()[1] is not None
    (first, _) = kept.files.blocks(ROWS // 2)
    texts = KeptTexts(kept.blocks, "lines", kept._encode, ignores_vectors=True)
    assert texts.of(first) is not None


def test_blocks_are_not_encoded_for_few_of_their_files() -> None:
    kept, few = Kept(), [number % 8 < 3 for number in range(ROWS)]
    assert [kept.texts(few) for _ in range(2)] == [[None, None]] * 2
    kept.texts()
    assert kept.texts(few) == [
        [[b"0", b"1", b"2"], [b"<0>", b"<1>", b"<2>"]],
        [[b"8", b"9", b"10"], [b"<8>", b"<9>", b"<10>"]],
    ]


def test_blocks_are_not_unpacked_for_very_few_of_their_files() -> None:
    kept = Kept()
    kept.files = FileSet.of([FileChunk.of(pa.concat_batches([BATCH] * 4))])
    for _ in range(2):
        kept.texts()
    one = [number == 0 for number in range(4 * ROWS)]
    texts = KeptTexts(kept.blocks, "lines", kept._encode)
    (block,) = kept.files.where(pa.array(one)).blocks(2 * ROWS)
    assert texts.of(block) is None


def test_what_differs_in_each_response_is_not_kept() -> None:
    kept = Kept()
    kept.same = False
    assert [kept.texts() for _ in range(3)] == [[None, None]] * 3


def test_each_encoding_has_its_own_texts() -> None:
    kept = Kept()
    for encoding in ("lines", "tasks") * 3:
        kept.texts(encoding=encoding)
    assert kept.encoded == 4
