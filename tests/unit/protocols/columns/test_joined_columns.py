"""Columns are joined row by row."""

from __future__ import annotations

from sluicegate.protocols.columns.joined_columns import JoinedColumns


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
