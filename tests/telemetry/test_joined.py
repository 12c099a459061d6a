"""Metrics of several processes are joined without losing or repeating a count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from sluicegate.telemetry.export.joined import JoinedFamilies, decode, encode
from sluicegate.telemetry.export.prometheus import exposition

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def counter(value: float, **labels: str) -> Metric:
    family = Metric("requests", "Requests.", "counter")
    family.add_sample("requests_total", labels, value)
    return family


def gauge(value: float) -> Metric:
    family = Metric("memory_bytes", "Memory.", "gauge", "bytes")
    family.add_sample("memory_bytes", {}, value)
    return family


def histogram(*buckets: tuple[str, float], **labels: str) -> Metric:
    family = Metric("wait_seconds", "Waits.", "histogram", "seconds")
    for bound, value in buckets:
        family.add_sample("wait_seconds_bucket", {**labels, "le": bound}, value)
    family.add_sample("wait_seconds_count", labels, buckets[-1][1])
    family.add_sample("wait_seconds_sum", labels, 0.5)
    return family


def samples(families: list[Metric]) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """The samples after a client has parsed them, which rejects repeated and disordered ones."""
    text = exposition(families, OPENMETRICS)[0].decode()
    parsed_families: list[Metric] = list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]
    parsed = [each for family in parsed_families for each in family.samples]
    found = {(each.name, tuple(sorted(each.labels.items()))): each.value for each in parsed}
    assert len(found) == len(parsed)
    return found


def test_counters_are_added_and_gauges_are_those_of_each_process() -> None:
    joined = JoinedFamilies()
    found = samples(joined.join({"0": [counter(2), gauge(5)], "1": [counter(3), gauge(7)]}))
    assert found == {
        ("requests_total", ()): 5,
        ("memory_bytes", (("process", "0"),)): 5,
        ("memory_bytes", (("process", "1"),)): 7,
    }


def test_an_empty_label_is_no_label() -> None:
    joined = JoinedFamilies()
    found = samples(joined.join({"0": [counter(2)], "1": [counter(3, error="")]}))
    assert found == {("requests_total", ()): 5}


def test_histograms_are_added_by_bucket() -> None:
    one = histogram(("0.1", 1), ("1.0", 2), ("+Inf", 2), route="/a")
    other = histogram(("0.1", 0), ("1.0", 0), ("+Inf", 4), route="/a")
    third = histogram(("0.1", 1), ("1.0", 1), ("+Inf", 1), route="/b")
    found = samples(JoinedFamilies().join({"0": [one], "1": [other], "2": [third]}))
    assert found["wait_seconds_bucket", (("le", "+Inf"), ("route", "/a"))] == 6
    assert found["wait_seconds_bucket", (("le", "1.0"), ("route", "/a"))] == 2
    assert found["wait_seconds_count", (("route", "/b"),)] == 1


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.booleans()), max_size=30))
def test_sums_never_decrease_when_processes_are_replaced(steps: list[tuple[str, int, bool]]) -> None:
    joined, running, total = JoinedFamilies(), {"a": 0, "b": 0}, 0
    for process, more, ends in steps:
        running[process] += more
        total += more
        if ends:
            joined.retire([counter(running[process])])
            running[process] = 0
        found = joined.join({name: [counter(value)] for name, value in running.items()})
        assert samples(found) == {("requests_total", ()): total}


def test_gauges_of_an_ended_process_are_forgotten() -> None:
    joined = JoinedFamilies()
    joined.retire([gauge(5)])
    assert joined.join({}) == []


@pytest.mark.parametrize(
    "family", [counter(1.5, a="b"), gauge(-2), histogram(("1.0", 1), ("+Inf", 3), a="b")]
)
def test_metrics_are_the_same_on_the_other_side(family: Metric) -> None:
    assert decode(encode([family])) == [family]


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        (None, "text/plain; version=0.0.4; charset=utf-8"),
        ("text/html", "text/plain; version=0.0.4; charset=utf-8"),
        (f"{OPENMETRICS}0.what,text/plain", "application/openmetrics-text; version=1.0.0"),
        (OPENMETRICS, "application/openmetrics-text; version=1.0.0"),
    ],
)
def test_the_format_is_what_the_client_accepts(accept: str | None, content_type: str) -> None:
    body, sent = exposition([counter(1)], accept)
    assert sent.startswith(content_type)
    assert body.endswith(b"# EOF\n") == ("openmetrics" in content_type)
