"""Names and patterns that select tables."""

from __future__ import annotations

import pytest

from sluicegate.delegation.schedules.selection import TableName, TableSelection, encoded

CATALOG = {
    "sales": ["events_eu", "events_us", "orders"],
    "sales.emea": ["events_de", "orders"],
    "ops": ["events_all", "v1.2", "50%"],
}


def selected(tables: list[str], exclude: list[str] | None = None) -> list[str]:
    selection = TableSelection(tables, exclude or [])
    listed = [*CATALOG] if selection.lists_schemas else []
    return [
        str(name)
        for schema in selection.schemas(listed)
        for name in selection.tables(schema, CATALOG.get(schema, []) if selection.lists(schema) else [])
    ]


@pytest.mark.parametrize(
    ("tables", "exclude", "found"),
    [
        (["sales.orders"], [], ["sales.orders"]),
        (["sales.missing", "gone.table"], [], ["gone.table", "sales.missing"]),
        (["sales.*"], [], ["sales.events_eu", "sales.events_us", "sales.orders"]),
        (["sales.emea.*"], [], ["sales.emea.events_de", "sales.emea.orders"]),
        (
            ["*.events_*"],
            [],
            ["ops.events_all", "sales.events_eu", "sales.events_us", "sales.emea.events_de"],
        ),
        (["sales*.orders"], [], ["sales.orders", "sales.emea.orders"]),
        (["*.*"], ["sales*.*"], ["ops.50%25", "ops.events_all", "ops.v1%2E2"]),
        (["sales.*"], ["*.events_e*", "*.*_us"], ["sales.orders"]),
        (["sales.orders", "sales.o*"], [], ["sales.orders"]),
        (["sales.orders"], ["*.orders"], []),
    ],
)
def test_selected_tables_are_sorted_and_unique(
    tables: list[str], exclude: list[str], found: list[str]
) -> None:
    assert selected(tables, exclude) == found


@pytest.mark.parametrize(
    ("tables", "schemas", "any_tables"),
    [
        (["a.b"], False, False),
        (["a.*"], False, True),
        (["*.b"], True, True),
        (["a.b", "c*.d"], True, True),
    ],
)
def test_only_what_is_needed_is_listed(tables: list[str], schemas: bool, any_tables: bool) -> None:
    selection = TableSelection(tables)
    assert (selection.lists_schemas, selection.lists_tables) == (schemas, any_tables)


def test_names_are_decoded_for_tasks() -> None:
    name = TableName("sales.v1%2E2", encoded("50%.csv"))
    assert (name.levels, name.name, str(name)) == (
        ("sales", "v1.2"),
        "50%.csv",
        "sales.v1%2E2.50%25%2Ecsv",
    )


def test_a_pattern_with_many_wildcards_takes_linear_time() -> None:
    selection = TableSelection(["s." + "*a" * 40 + "b"])
    assert not selection.tables("s", ["a" * 1000])
