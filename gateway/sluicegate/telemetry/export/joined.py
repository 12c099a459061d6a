"""Metrics of several processes as those of one service.

Counters and histograms are added up, with those of processes that have ended: a sum never decreases
when a process is replaced. Gauges are those of the running processes, each with a label `process`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import orjson
from prometheus_client import Metric

PROCESS = "process"
_ADDED = frozenset({"counter", "histogram"})

_Labels = tuple[tuple[str, str], ...]
_Sums = dict[tuple[str, _Labels], float]


def encode(families: Iterable[Metric]) -> bytes:
    """Encode the metrics of a process for `decode` in another one."""
    return orjson.dumps(
        [
            (
                family.name,
                family.documentation,
                family.type,
                family.unit,
                [(sample.name, sample.labels, sample.value) for sample in family.samples],
            )
            for family in families
        ]
    )


def decode(data: bytes) -> list[Metric]:
    """Decode the metrics of a process. They are from a process that this one has started."""
    families = []
    for name, documentation, kind, unit, samples in orjson.loads(data):
        family = Metric(name, documentation, kind, unit)
        for sample, labels, value in samples:
            family.add_sample(sample, labels, math.nan if value is None else value)
        families.append(family)
    return families


class JoinedFamilies:
    """Joins the metrics of processes, and keeps the sums of those that have ended."""

    def __init__(self) -> None:
        self._families: dict[str, Metric] = {}
        self._ended: dict[str, _Sums] = {}

    def retire(self, families: Iterable[Metric]) -> None:
        """Add the last counters and histograms of a process that has ended."""
        for family in families:
            if family.type in _ADDED:
                self._families.setdefault(family.name, _empty(family))
                _add(self._ended.setdefault(family.name, {}), family)

    def join(self, running: Mapping[str, Sequence[Metric]]) -> list[Metric]:
        """Return the metrics of all processes."""
        joined = {name: _empty(family) for name, family in self._families.items()}
        sums = {name: dict(ended) for name, ended in self._ended.items()}
        for process, families in running.items():
            for family in families:
                found = joined.setdefault(family.name, _empty(family))
                if family.type in _ADDED:
                    _add(sums.setdefault(family.name, {}), family)
                    continue
                for sample in family.samples:
                    found.add_sample(sample.name, {**sample.labels, PROCESS: process}, sample.value)
        for name, values in sums.items():
            _fill(joined[name], values)
        return list(joined.values())


def _empty(family: Metric) -> Metric:
    return Metric(family.name, family.documentation, family.type, family.unit)


def _add(sums: _Sums, family: Metric) -> None:
    for sample in family.samples:
        # An empty label is no label. Which ones there are depends on what a process has seen.
        labels = tuple(sorted((name, value) for name, value in sample.labels.items() if value))
        key = sample.name, labels
        sums[key] = sums.get(key, 0) + sample.value


def _fill(family: Metric, values: _Sums) -> None:
    """Add the samples, those of one histogram next to each other, as OpenMetrics requires."""
    series: dict[_Labels, list[tuple[str, _Labels, float]]] = {}
    for (name, labels), value in values.items():
        without_bucket = tuple(label for label in labels if label[0] != "le")
        series.setdefault(without_bucket, []).append((name, labels, value))
    for samples in series.values():
        for name, labels, value in samples:
            family.add_sample(name, dict(labels), value)
