from __future__ import annotations

import pytest

from sluicegate_cedar.policy_set import Statement, statements


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("// a; b\n", []),
        ("a;b;", [("a;", 1), ("b;", 1)]),
        ("\n\na\n  b;\n// c\nd;\n", [("a\n  b;", 3), ("d;", 6)]),
        ('a "x;\\";" b; c', [('a "x;\\";" b;', 1), ("c", 1)]),
        ("a // b; c\n d;", [("a // b; c\n d;", 1)]),
        ('a / b "//"; c;', [('a / b "//";', 1), ("c;", 1)]),
        ('a "open\nb;', [('a "open\nb;', 1)]),
    ],
)
def test_policies_are_found_with_their_lines(text: str, expected: list[tuple[str, int]]) -> None:
    assert list(statements(text)) == [Statement(*each) for each in expected]
