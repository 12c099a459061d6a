"""An index leaves the same files as the snapshot that it was made of, whatever the predicate."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.process.random_cases import cases
from support.tables.indexed import index_folder, indexed, rows_of, selected, snapshot_of
from support.tables.predicate_tables import Table, tables, trees
from support.tables.predicate_trees import json_hint

from sluicegate.tables.partitions import in_partitions, partition_texts
from sluicegate.tables.predicates import from_hints, prune
from sluicegate.tables.snapshot_index.files import IndexedFiles

generously = settings(
    max_examples=cases(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def indexed_table(table: Table) -> IndexedFiles:
    return indexed(index_folder(), snapshot_of(table.files, table.metadata))


@given(data=st.data())
@generously
def test_predicates_leave_the_same_files(data: st.DataObject) -> None:
    table = data.draw(tables())
    tree = data.draw(trees(table, [*table.columns, *table.partitions]))
    files = indexed_table(table)
    for predicate in (from_hints(None, [tree.sql()]), from_hints(json_hint(tree), [])):
        expected = table.files if predicate is None else prune(table.files, table.metadata, predicate)
        found = selected(files, table.metadata, predicate)
        assert rows_of(found) == rows_of(expected)
        assert rows_of(found.loaded()) == rows_of(expected)


@given(data=st.data())
@generously
def test_a_recipient_sees_the_files_of_its_partitions(data: st.DataObject) -> None:
    table = data.draw(tables())
    tree = data.draw(trees(table, [*table.columns, *table.partitions]))
    texts = {partition for partition, _ in table.log}
    chosen = data.draw(st.sets(st.sampled_from(sorted(texts))))

    def wanted(values: object) -> bool:
        return values in [json.loads(text) for text in chosen]

    visible = in_partitions(table.files, wanted)
    files = indexed_table(table).in_partitions(wanted)
    assert (len(files), files.size) == (len(visible), visible.size)
    assert rows_of(selected(files, table.metadata, None)) == rows_of(visible)
    again = files.in_partitions(lambda _: True)  # cannot show more
    assert rows_of(selected(again, table.metadata, None)) == rows_of(visible)
    assert files.partition_texts() == partition_texts(visible)
    predicate = from_hints(json_hint(tree), [])
    if predicate is not None:
        expected = prune(visible, table.metadata, predicate)
        assert rows_of(selected(files, table.metadata, predicate)) == rows_of(expected)
