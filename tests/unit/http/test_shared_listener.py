"""Each process knows how many connections the others have open."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluicegate.http.shared_listener import ProcessCounts


@pytest.fixture
def counts() -> Iterator[ProcessCounts]:
    """Three places, which are all free."""
    with ProcessCounts.with_places(3) as counts:
        yield counts


def test_each_process_gets_a_place_until_it_ends(counts: ProcessCounts) -> None:
    assert [counts.take() for _ in range(3)] == [0, 1, 2]
    with pytest.raises(OSError, match="too many processes"):
        counts.take()
    counts.give_back(1)
    assert counts.take() == 1


@pytest.mark.parametrize(
    ("mine", "other", "exceeded"),
    [(0, 0, False), (1, 1, False), (2, 1, True), (9, 8, False), (10, 8, True), (1, 2, False)],
)
def test_a_share_is_exceeded_if_another_process_has_clearly_fewer_connections(
    counts: ProcessCounts, mine: int, other: int, exceeded: bool
) -> None:
    share, theirs = (counts.share(counts.take()) for _ in range(2))
    share.publish(mine)
    theirs.publish(other)
    assert share.is_exceeded() is exceeded


def test_only_processes_that_accept_connections_are_compared(counts: ProcessCounts) -> None:
    share, leaving = (counts.share(counts.take()) for _ in range(2))
    counts.take()  # a process that is starting
    share.publish(5)
    leaving.publish(1)
    assert share.is_exceeded()
    leaving.leave()
    assert not share.is_exceeded()


def test_all_processes_see_the_same_numbers(counts: ProcessCounts) -> None:
    elsewhere = ProcessCounts(counts.descriptor)
    share, theirs = counts.share(counts.take()), elsewhere.share(elsewhere.take())
    theirs.publish(0)
    share.publish(2)
    assert share.is_exceeded()
    theirs.publish(2)
    assert not share.is_exceeded()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems need a directory for files")
def test_no_directory_for_temporary_files_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with ProcessCounts.with_places(1) as counts:
        assert counts.take() == 0
