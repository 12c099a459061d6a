"""The grammar of partition filters."""

from __future__ import annotations

import pytest

from sluicegate.access.partition_filter import PartitionFilter, PartitionTerm, RecipientProperty

VALUE = "a string in single quotes or recipient.PROPERTY"


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("country = 'DE'", [("country", "DE")]),
        ("country='DE'and day = ''", [("country", "DE"), ("day", "")]),
        (" a = 'it''s' AND `b c` = '1' ", [("a", "it's"), ("b c", "1")]),
        ("country = recipient.country", [("country", RecipientProperty("country"))]),
        ("größe = recipient.cost-centre", [("größe", RecipientProperty("cost-centre"))]),
        ("recipient = 'x AND y'", [("recipient", "x AND y")]),
    ],
)
def test_filters_that_are_understood(
    text: str, terms: list[tuple[str, str | RecipientProperty]]
) -> None:
    assert PartitionFilter.parse(text).terms == tuple(PartitionTerm(*term) for term in terms)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a column at character 1, found the end"),
        ("country", "expected = at character 8, found the end"),
        (
            "country =",
            f"expected {VALUE} at character 10, found the end",
        ),
        (
            "country = DE",
            f"expected {VALUE} at character 11, found 'DE'",
        ),
        ("country = 'DE", "expected a column or a value at character 11, found '''"),
        ("country > 'DE'", "expected a column or a value at character 9, found '>'"),
        ("'DE' = country", "expected a column at character 1, found ''DE''"),
        ("a = 'b' c = 'd'", "expected AND at character 9, found 'c'"),
        ("a = 'b' AND", "expected a column at character 12, found the end"),
        ("a = 'b' AND a = 'c'", "the partition filter names the column 'a' twice"),
        ("1a = 'b'", "expected a column or a value at character 1, found '1'"),
    ],
)
def test_filters_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as raised:
        PartitionFilter.parse(text)
    assert str(raised.value) == message
