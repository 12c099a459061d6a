"""Figures that grow are found, and lines of a log that show a defect."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from soak.logs import findings
from soak.threads import NAMED_THREADS, Pool, pool_uses, thread_names
from soak.watch import Sample, Watch, growth

ENTRY = {"level": "info", "message": "GET / 200", "status": 200}


def test_a_figure_that_goes_up_and_down_is_flat_and_one_that_grows_is_not() -> None:
    def within(first: float) -> float:
        return first * 1.1

    wave = [100.0, 104.0] * 50
    assert growth("memory", wave, within).is_flat
    grown = growth("memory", [100 + each / 5 for each in range(100)], within)
    assert not grown.is_flat
    assert grown.percent == pytest.approx(18, abs=1)
    bulge = growth("memory", [100.0] * 40 + [130.0] * 20 + [100.0] * 40, within)
    assert not bulge.is_flat
    assert growth("memory", [], within).is_flat


def test_samples_of_the_warm_up_do_not_count() -> None:
    watch = Watch("gateway", os.getpid())
    watch.samples += [Sample(at, 100 if at < 50 else 200, 10, {}, 0) for at in range(100)]
    assert not all(each.is_flat for each in watch.growths(0))
    assert all(each.is_flat for each in watch.growths(50))


def test_a_sample_has_what_the_process_uses() -> None:
    watch = Watch("gateway", os.getpid())
    watch.look(1.0)
    (sample,) = watch.samples
    assert sample.memory > 10_000_000
    assert sample.descriptors > 2
    assert sample.threads > 0


def test_threads_are_counted_by_their_pools_in_another_process() -> None:
    code = "import threading as t; t.Thread(target=t.Event().wait, name='pool_7', daemon=True).start()"
    command = [sys.executable, "-c", f"{code}; print('begun', flush=True); input()"]
    environment = {**os.environ, "PYTHONPATH": NAMED_THREADS}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = thread_names(process.pid)
        process.communicate(b"\n")
    assert found["pool"] == 1
    assert found.total() == 2


@pytest.mark.parametrize(
    ("busy", "rested", "found"),
    [(4, 4, True), (5, 0, False), (4, 5, False), (0, 0, True)],
)
def test_a_pool_has_a_limit(busy: int, rested: int, found: bool) -> None:
    pools = {"pool": Pool("work", 4)}
    (use,) = pool_uses([{"pool": busy}], {"pool": rested}, pools, 1)
    assert use.is_right is found


@pytest.mark.parametrize(("rested", "found"), [(2, True), (3, False)])
def test_a_pool_that_ends_idle_threads_must_do_so(rested: int, found: bool) -> None:
    pools = {"pool": Pool("work", 100, 1)}
    (use,) = pool_uses([{"pool": 90}], {"pool": rested}, pools, 2)
    assert use.is_right is found


def test_threads_of_no_known_pool_are_found() -> None:
    watch = Watch("gateway", os.getpid(), pools={"main": Pool("main thread", 1)})
    watch.samples += [Sample(0, 1, 1, {"main": 1, "other": 1}, 0), Sample(1, 1, 1, {"main": 1}, 0)]
    (excess,) = watch.excesses(0)
    assert excess.startswith("gateway, threads 'other' (unknown): 1, and 0 at the end")


@pytest.mark.parametrize(
    "line",
    [
        json.dumps({**ENTRY, "status": 500}),
        json.dumps({**ENTRY, "status": 502}),
        json.dumps({**ENTRY, "level": "error"}),
        json.dumps({**ENTRY, "exception": {"type": "KeyError", "stack": "…"}}),
        "Traceback (most recent call last):",
        "sys:1: ResourceWarning: unclosed <socket>",
        json.dumps({**ENTRY, "message": "Task exception was never retrieved"}),
    ],
)
def test_lines_that_show_a_defect_are_found(line: str) -> None:
    found = findings([line])
    assert (found.faulty, found.faults) == (1, [line])


def test_other_lines_are_counted() -> None:
    broken = {"level": "warning", "status": 503, "exception": {"type": "StorageError"}}
    found = findings([json.dumps(ENTRY), json.dumps(broken), "serving at …"])
    assert (found.lines, found.faulty) == (3, 0)
    assert found.statuses == {"200": 1, "503": 1}
