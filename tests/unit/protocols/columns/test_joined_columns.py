"""Columns are joined row by row."""

from __future__ import annotations

from sluicegate.protocols.columns.joined_columns import Columns


def test_rows_have_the_texts_between_their_columns() -> None:
    columns = Columns((b"<", b"=", b">\n"), ([b"a", b"b"], [b"1", b"2"]))
    assert columns.joined() == b"<a=1>\n<b=2>\n"


def test_sums_have_the_columns_of_both() -> None:
    start, end = Columns((b"[",)), Columns((b"]",))
    columns = start + Columns.of([b"a", b"b"]) + Columns((b",",)) + Columns.of([b"1", b"2"]) + end
    assert columns.joined() == b"[a,1][b,2]"


def test_no_rows_are_nothing() -> None:
    assert Columns((b"[", b"]"), ([],)).joined() == b""
