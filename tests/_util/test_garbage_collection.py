"""The garbage collector pauses while modules are imported, and only then."""

from __future__ import annotations

import gc

import pytest

from sluicegate._util.garbage_collection import paused_collection


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
