from __future__ import annotations

from collections import Counter

import pytest
from histories.generate import history
from histories.history import Flavour, Operation

PLAIN = Flavour()
MAPPED = Flavour(column_mapping="name")
ONLY_MAPPED = {"RenameColumn", "DropColumn"}


@pytest.mark.parametrize("flavour", [PLAIN, MAPPED, Flavour(deletion_vectors=True)])
def test_a_seed_makes_the_same_history_again(flavour: Flavour) -> None:
    for seed in range(20):
        assert str(history(seed, flavour, 10)) == str(history(seed, flavour, 10))


def test_seeds_and_flavours_make_different_histories() -> None:
    made = {str(history(seed, flavour, 10)) for seed in range(20) for flavour in (PLAIN, MAPPED)}
    assert len(made) == 40


@pytest.mark.parametrize(("flavour", "without"), [(PLAIN, ONLY_MAPPED), (MAPPED, set())])
def test_every_operation_comes_often_enough(flavour: Flavour, without: set[str]) -> None:
    made = Counter(
        type(operation).__name__
        for seed in range(60)
        for operation in history(seed, flavour, 10).operations
    )
    kinds = {kind.__name__ for kind in Operation.__args__}
    assert set(made) == kinds - without
    assert min(made.values()) >= 10


def test_tables_are_partitioned_or_not_with_and_without_a_feed() -> None:
    made = [history(seed, PLAIN, 0) for seed in range(60)]
    shapes = {(each.partition_columns, bool(each.properties)) for each in made}
    assert shapes == {(p, f) for p in ((), ("part",), ("part", "day")) for f in (True, False)}
