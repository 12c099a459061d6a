from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.cli.commands.ledger.usage import bar_chart, steps_for

_ROWS = st.lists(st.tuples(st.text(max_size=90), st.integers(0, 10**15)), max_size=5)


def test_bars_are_as_long_as_their_numbers() -> None:
    drawn = list(bar_chart([("acme", 1_600), ("globex", 800), ("x", 100), ("none", 0)], 33))
    assert drawn == [
        "acme    ██████████████████  1,600",
        "globex  █████████             800",
        "x       █▏                    100",
        "none                            0",
    ]


def test_the_smallest_number_is_visible() -> None:
    assert "▏" in list(bar_chart([("a", 10**9), ("b", 1)], 40))[1]


@given(_ROWS, st.integers(0, 300))
def test_lines_are_aligned_and_printable(rows: list[tuple[str, int]], width: int) -> None:
    drawn = list(bar_chart(rows, width))
    assert len(drawn) == len(rows)
    assert len({len(line) for line in drawn}) <= 1
    assert all(line.isprintable() for line in drawn)


@pytest.mark.parametrize(("encoding", "cell"), [("utf-8", "█"), ("ascii", "#"), ("latin-1", "#")])
def test_cells_are_what_the_output_can_show(encoding: str, cell: str) -> None:
    steps = steps_for(io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    assert steps[-1] == cell
    (line,) = bar_chart([("a", 5)], 16, steps)
    assert line == f"a  {cell * 10}  5"
