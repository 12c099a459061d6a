"""The garbage collector pauses while modules are imported, and only then."""

from __future__ import annotations

import gc
import weakref

import pytest

from sluicegate._util.garbage_collection import collect_all, paused_collection


def test_collection_goes_on_after_the_imports() -> None:
    before = gc.get_freeze_count()
    try:
        with paused_collection():
            assert not gc.isenabled()
            made: list[list[int]] = [[] for _ in range(1000)]
        assert gc.isenabled()
        assert gc.get_freeze_count() >= before + len(made)
    finally:
        gc.unfreeze()


def test_collection_goes_on_where_an_import_fails() -> None:
    with pytest.raises(ImportError), paused_collection():
        raise ImportError
    assert gc.isenabled()


class Knot:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def test_garbage_is_found_among_objects_that_are_never_scanned() -> None:
    try:
        with paused_collection():
            knot = Knot()
        remaining = weakref.ref(knot)
        del knot
        gc.collect()
        assert remaining() is not None
        collect_all()
        assert remaining() is None
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
