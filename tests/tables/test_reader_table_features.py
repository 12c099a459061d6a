"""The suite's own reader tables show whatever the golden tables of the Delta project show.

`golden_features.txt` says what these are: the list is compared with the golden tables where they are at
hand, and the suite's own tables with the list everywhere.
"""

from __future__ import annotations

from pathlib import Path

from support.tables.golden import OTHERWISE_SERVED, golden_served, require_golden_tables
from support.tables.reader_tables.features import features
from support.tables.reader_tables.own import OWN
from support.tables.reader_tables.tables import ReaderTables

LISTED = Path(__file__).with_name("golden_features.txt").read_text().splitlines()


def shown(tables: ReaderTables, names: list[str]) -> set[str]:
    return set().union(*(features(tables.table(name).location) for name in names))


def test_own_tables_show_what_golden_tables_show(tables: ReaderTables) -> None:
    assert set(LISTED) - shown(tables, list(OWN)) == set()


def test_the_list_is_what_golden_tables_show(tables: ReaderTables) -> None:
    require_golden_tables()
    assert sorted(shown(tables, list(golden_served()))) == LISTED


def test_golden_tables_have_names_of_their_own() -> None:
    require_golden_tables()
    names = set(golden_served())
    assert set(OTHERWISE_SERVED) <= names
    assert not names & set(OWN)
