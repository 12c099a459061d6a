"""Assembles the scheduler of a service. Imported only if schedules are configured."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from sluicegate.config import Settings
from sluicegate.database import Store
from sluicegate.database.statements.clock import NOW
from sluicegate.delegation.grants import RealmGrants
from sluicegate.delegation.queue.encryption import PayloadCipher
from sluicegate.delegation.queue.statements import Now
from sluicegate.delegation.schedules.firing_retention import FiringRetention
from sluicegate.delegation.schedules.firings import Firings
from sluicegate.delegation.schedules.schedule import schedules_of
from sluicegate.delegation.schedules.scheduler import Scheduler
from sluicegate.delegation.schedules.states import ScheduleStates
from sluicegate.delegation.schedules.submission import Submission
from sluicegate.plugins import ConfiguredInstances, Instances, Registry
from sluicegate.plugins.catalogs.guarded import GuardedCatalog
from sluicegate.plugins.context import NoLinks


@asynccontextmanager
async def opened_scheduler(
    settings: Settings,
    registry: Registry,
    configured: ConfiguredInstances,
    store: Store,
    cipher: PayloadCipher,
    *,
    now: Now = NOW,
) -> AsyncIterator[Scheduler]:
    """Return the scheduler of a service; its catalogs are closed at the end of the block."""
    schedules = schedules_of(settings.delegation)
    needed = {
        each.settings.listed_in
        for each in schedules.values()
        if each.times is not None and each.selection.lists_tables
    }
    catalogs = tuple(each for each in configured.catalogs if each.name in needed)
    instances = Instances(
        registry,
        replace(configured, catalogs=catalogs, authenticators=(), policies=()),
        links=NoLinks,
        guard=lambda entry, catalog: GuardedCatalog(entry.name, catalog, entry.config),
    )
    firings = Firings(store, now=now)
    grants = RealmGrants.configured(settings.delegation, configured)
    submission = Submission(store, schedules, firings, cipher, grants, instances.catalogs, now)
    retention = FiringRetention(store, settings.delegation.retention, now=now)
    try:
        yield Scheduler(schedules, ScheduleStates(store, now=now), firings, submission, retention)
    finally:
        await instances.aclose()
