from __future__ import annotations

from support.process.clock import Clock

from sluicegate.protocols.iceberg_rest.store.recent_reads import COVERED, RecentReads


def test_a_record_covers_a_read_for_a_minute() -> None:
    clock = Clock(0)
    recent, read = RecentReads(clock), RecentReads.of("t", "r1", "GET", "a.parquet")
    assert not recent.covers(read)
    recent.add(read)
    clock.advance(COVERED - 1)
    assert recent.covers(read)
    recent.add(read)  # covered, so it does not extend the time
    clock.advance(1)
    assert not recent.covers(read)


def test_reads_differ_in_each_part() -> None:
    parts = [("t", "GET", "a"), ("t", "HEAD", "a"), ("u", "GET", "a"), ("t", "GET", "\udcffa")]
    assert len({RecentReads.of(*each) for each in parts}) == 4
