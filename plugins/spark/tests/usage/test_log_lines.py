"""Files are split into the same lines whatever the sizes of their pieces, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from sluicegate_spark.usage.log_reader import lines_of

_PIECES = st.lists(st.sampled_from([b"", b"\n", b"\r", b"\r\n", b"a", b"bc", b"defg", b"\n\n"]))


@given(_PIECES, st.integers(1, 6))
def test_pieces_do_not_matter(pieces: list[bytes], longest: int) -> None:
    content = b"".join(pieces)
    assert list(lines_of(pieces, longest)) == list(lines_of([content], longest))
    expected = [(number, line) for number, line in enumerate(content.split(b"\n"), start=1) if line]
    found = [(line.number, line.content) for line in lines_of(pieces, longest) if line.is_complete]
    assert found == [(number, line) for number, line in expected if len(line) <= longest]


def test_a_gigantic_line_is_one_incomplete_line() -> None:
    def file() -> Iterator[bytes]:
        yield b"first\n"
        for _ in range(1_000):
            yield b"x" * 100_000
        yield b"\nlast"

    first, gigantic, last = lines_of(file(), 64)
    assert (first.content, last.content, last.number) == (b"first", b"last", 3)
    assert (gigantic.content, gigantic.is_complete) == (b"x" * 64, False)
