"""Whatever the rows, the writer of the statistics and the client: no file with a match is dropped."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.process.random_cases import cases
from support.tables.filesets import kept
from support.tables.predicate_tables import Table, tables, trees
from support.tables.predicate_trees import Semantics, Tree, json_hint

# Kinds whose values hints and partition values say exactly.
EXACT = (
    "boolean",
    "byte",
    "short",
    "integer",
    "long",
    "decimal(9,2)",
    "decimal(38,10)",
    "string",
    "date",
)

generously = settings(
    max_examples=cases(300),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def wrongly_dropped(table: Table, tree: Tree, left: set[int]) -> set[int]:
    semantics = [Semantics(nan_is_largest, table.zone) for nan_is_largest in (True, False)]
    return {file for each in semantics for file in table.matching(tree, each)} - left


@given(data=st.data())
@generously
def test_no_file_with_a_matching_row_is_dropped(data: st.DataObject) -> None:
    table = data.draw(tables())
    tree = data.draw(trees(table, [*table.columns, *table.partitions]))
    assert not wrongly_dropped(table, tree, kept(table.files, table.metadata, tree.sql()))
    assert not wrongly_dropped(
        table, tree, kept(table.files, table.metadata, json_hint=json_hint(tree))
    )


@given(data=st.data())
@generously
def test_predicates_on_partitions_alone_leave_exactly_the_files_that_match(data: st.DataObject) -> None:
    table = data.draw(tables(partitions_only=True, kinds=EXACT))
    tree = data.draw(trees(table, table.partitions, casts=False))
    matching = table.matching(tree, Semantics(True, table.zone))
    hint = json_hint(tree)
    # Spark's client writes a null literal like the text "null", which therefore decides nothing.
    assume('"null"' not in hint)
    assert kept(table.files, table.metadata, json_hint=hint) == matching
    if "\\" not in tree.sql():
        assert kept(table.files, table.metadata, tree.sql()) == matching
