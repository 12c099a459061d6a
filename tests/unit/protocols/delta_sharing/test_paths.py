"""The path of a table, as in the specification's "Query Table Version" and others."""

from __future__ import annotations

import pytest
from starlette.routing import compile_path

from sluicegate.protocols.delta_sharing.paths import PREFIX, TABLE

PATTERN, *_ = compile_path(PREFIX + TABLE)


def test_the_path_of_a_table_has_its_three_names() -> None:
    match = PATTERN.fullmatch("/delta-sharing/shares/a.b/schemas/e u/tables/ü")
    assert match is not None
    assert match.groupdict() == {"share": "a.b", "schema": "e u", "table": "ü"}


@pytest.mark.parametrize(
    "path",
    [
        "/shares/a/schemas/b/tables/c",
        "/delta-sharing/shares/a/schemas/b/tables/",
        "/delta-sharing/shares//schemas/b/tables/c",
        "/delta-sharing/shares/a/schemas/b/tables/c/d",
    ],
)
def test_other_paths_are_not_those_of_tables(path: str) -> None:
    assert PATTERN.fullmatch(path) is None
