"""Metrics as a Prometheus server reads them, parsed by its Python client."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import httpx
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
_ADDRESS = re.compile(r"Prometheus metrics: (http://\S+)")


@dataclass(frozen=True)
class Scraped:
    """One response."""

    families: Mapping[str, Metric]

    def value(self, name: str, **labels: str) -> float:
        """The sum of the samples of a name that have these labels."""
        return sum(
            sample.value
            for family in self.families.values()
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )


def scrape(url: str, *, openmetrics: bool = False) -> Scraped:
    """Read and parse the metrics."""
    response = httpx.get(url, headers={"accept": OPENMETRICS if openmetrics else "text/plain"})
    assert response.status_code == 200, response.text
    parse = parse_openmetrics if openmetrics else parse_text
    return Scraped({family.name: family for family in parse(response.text)})


def metrics_address(log: str) -> str:
    """The address that a process has logged."""
    found = _ADDRESS.search(log)
    assert found is not None, log
    return found[1]
