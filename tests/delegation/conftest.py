"""The parts of a delegation service on each kind of database, by a clock that tests move."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from support.servers.databases import database_url, store
from support.servers.delegation import Desk, RunningClock
from support.tasks.metrics import recording_metrics

from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.database import Store

__all__ = ["clock", "database_url", "desk", "store"]


@pytest.fixture
def clock() -> RunningClock:
    return RunningClock()


@pytest.fixture
def desk(store: Store, clock: RunningClock) -> Desk:
    return Desk(store, DelegationSettings(), clock)


@pytest.fixture
def reader() -> Iterator[InMemoryMetricReader]:
    """What is measured."""
    with recording_metrics() as found:
        yield found
