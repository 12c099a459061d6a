"""The number of processes that `auto` stands for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sluicegate.cli.commands.serve import usable_cpus


@pytest.fixture(autouse=True)
def eight_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))


@pytest.mark.parametrize(
    ("cpu_max", "count"),
    [
        ("max 100000", 8),
        ("400000 100000", 4),
        ("150000 100000", 2),
        ("10000 100000", 1),
        ("1600000 100000", 8),
        ("", 8),
        ("100000 0", 8),
        ("what", 8),
    ],
)
def test_the_quota_of_a_container_limits_the_number(tmp_path: Path, cpu_max: str, count: int) -> None:
    file = tmp_path / "cpu.max"
    file.write_text(cpu_max)
    assert usable_cpus(file) == count


def test_without_control_groups_the_affinity_counts(tmp_path: Path) -> None:
    assert usable_cpus(tmp_path / "none") == 8
