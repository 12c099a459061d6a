"""The parts of a delegation service on each kind of database."""

from __future__ import annotations

import pytest
from support.servers.databases import database_url, store
from support.servers.delegation import Desk, RunningClock

from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.database import Store

__all__ = ["database_url", "desk", "store"]

_SETTINGS = {
    "lease": {"heartbeat": 1, "ttl": 5},
    "retry": {"initial_backoff": 0, "max_attempts": 2},
    "worker": {"poll_interval": 1},
}


@pytest.fixture
def desk(store: Store) -> Desk:
    return Desk(store, DelegationSettings.model_validate(_SETTINGS), RunningClock())
