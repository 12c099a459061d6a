"""Submits the tasks of firings."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import anyio
import anyio.to_thread
from pydantic import ValidationError
from sqlalchemy import select

from sluicegate._util.tasks import cancel_all
from sluicegate.api import Catalog
from sluicegate.api.delegation.reports import UNSTORABLE
from sluicegate.api.errors import ConfigurationError, NotFound, SluicegateError, Unavailable
from sluicegate.database import StatementRefused, Store
from sluicegate.database.statements.clock import NOW
from sluicegate.database.task_tables import tasks
from sluicegate.delegation.grants import RealmGrants
from sluicegate.delegation.queue.encryption import PayloadCipher
from sluicegate.delegation.queue.new_tasks import Origin, create_free
from sluicegate.delegation.queue.statements import Now
from sluicegate.delegation.schedules.firings import Firing, FiringConflict, Firings, storable_message
from sluicegate.delegation.schedules.schedule import Schedule, StartTimes
from sluicegate.delegation.schedules.selection import TableName, TableSelection
from sluicegate.delegation.task_payload import TaskPayload

BATCH = 100
"""Tables whose tasks are stored in one transaction."""
_SHOWN = 5


class SelectedTables:
    """The tables of a schedule, sorted by name, from the catalog as it is now."""

    def __init__(self, schedule: Schedule, catalogs: Mapping[str, Catalog]) -> None:
        self._schedule = schedule
        self._catalogs = catalogs
        self.missing: list[str] = []
        """Schemas that the schedule names, but the catalog does not have."""
        self.unusable = 0
        """Number of schemas and tables whose names no task can have."""

    async def batches(self, after: TableName | None) -> AsyncGenerator[Sequence[TableName], None]:
        """Return the tables in batches."""
        selection = self._schedule.selection
        listed = await self._catalog().list_schemas() if selection.lists_schemas else ()
        for schema in selection.schemas(self._usable(listed)):
            if after is not None and schema < after.schema:
                continue
            names = await self._names(schema) if selection.lists(schema) else ()
            # A schema can have many thousands of tables.
            found = await anyio.to_thread.run_sync(selection.tables, schema, self._usable(names))
            left = [name for name in found if after is None or name > after]
            for start in range(0, len(left), BATCH):
                yield left[start : start + BATCH]

    def notes(self) -> Iterator[str]:
        """What is unusual about the listing, for operators."""
        if self.unusable:
            yield f"{self.unusable} names of schemas or tables cannot be those of a task"
        if self.missing:
            shown = ", ".join(f"'{name[:100]}'" for name in self.missing[:_SHOWN])
            more = len(self.missing) - _SHOWN
            yield f"the catalog has no schema {shown}" + (f" and {more} more" if more > 0 else "")

    def _usable(self, names: Iterable[str]) -> list[str]:
        """Leave out names that no database can store; a position must be stored."""
        found = [*names]
        usable = [each for each in found if not UNSTORABLE.search(each)]
        self.unusable += len(found) - len(usable)
        return usable

    async def _names(self, schema: str) -> Sequence[str]:
        try:
            return await self._catalog().list_tables(schema)
        except NotFound:
            self.missing.append(schema)
            return ()

    def _catalog(self) -> Catalog:
        name = self._schedule.settings.listed_in
        if name not in self._catalogs:
            raise ConfigurationError(f"there is no catalog '{name}' in the configuration")
        return self._catalogs[name]


class SucceededTables:
    """The selected tables among those whose tasks of a firing have succeeded, sorted by name."""

    def __init__(self, store: Store, selection: TableSelection, firing_id: str) -> None:
        self._store = store
        self._selection = selection
        self._firing_id = firing_id

    async def batches(self, after: TableName | None) -> AsyncGenerator[Sequence[TableName], None]:
        """Return the tables in batches."""
        entity = tasks.c.payload["operation_parameters"]["table_identity"]["table_entity_id"]
        query = select(entity.as_string()).where(
            tasks.c.firing_id == self._firing_id, tasks.c.status == "SUCCESS"
        )
        async with self._store.read() as connection:
            found = map(TableName.parse, (await connection.execute(query)).scalars())
            names = sorted(name for name in found if self._selection.selects(name))
        left = [name for name in names if after is None or name > after]
        for start in range(0, len(left), BATCH):
            yield left[start : start + BATCH]


log = logging.getLogger(__name__)

_CLIENT = "schedule:{}"  # a name that no client can have
_RETRY = 30  # seconds
_RENEWAL = 30.0  # seconds; a quarter of a claim
_LONGEST = 3_600_000  # milliseconds after which a firing that cannot continue fails


class WindowClosed(SluicegateError):
    """The window of a schedule closed before its tasks were submitted."""


@dataclass(slots=True)
class Submission:
    """Submits the tasks of a claimed firing, in batches that each are one transaction."""

    store: Store
    schedules: Mapping[str, Schedule]
    firings: Firings
    cipher: PayloadCipher
    grants: RealmGrants
    catalogs: Mapping[str, Catalog]
    now: Now = NOW

    async def perform(self, firing: Firing) -> None:
        """Submit all tasks of a firing, from where it was left. Failures are recorded."""
        schedule = self.schedules.get(firing.schedule)
        try:
            if schedule is None:
                await self.fail(firing, "the schedule is not in the configuration of this service")
            else:
                await _Attempt(self, schedule, firing).run()
        except FiringConflict as error:
            log.info("schedule %s: %s", firing.schedule, error.message)

    async def fail(self, firing: Firing, message: str) -> None:
        """Record that a firing submits no more tasks, because of an error."""
        stored = storable_message(message)
        log.error("schedule %s submits no more tasks: %s", firing.schedule, stored)
        await self.firings.end(firing, "FAILED", stored)


class _Attempt:
    """One attempt to submit all tasks of a firing."""

    def __init__(self, parts: Submission, schedule: Schedule, firing: Firing) -> None:
        self._parts = parts
        self._schedule = schedule
        self._firing = firing
        self._tables = SelectedTables(schedule, parts.catalogs)
        # Who runs a schedule by hand wants its tasks now.
        by_hand = firing.requested_by is not None
        self._times = StartTimes(None, None) if by_hand else schedule.start_times(firing.opened_at)

    async def run(self) -> None:
        renewing = asyncio.create_task(self._renew())
        try:
            is_capped = await self._submit()
        except FiringConflict:
            raise
        except (Unavailable, StatementRefused) as error:
            await self._try_later(error.message, error.detail)
        except SluicegateError as error:
            await self._parts.fail(self._firing, error.message)
        except Exception:
            log.exception("schedule %s", self._schedule.name)
            await self._try_later("an unexpected error stopped the service that submitted tasks")
        else:
            await self._end(is_capped)
        finally:
            await cancel_all(renewing)

    async def _submit(self) -> bool:
        """Submit tasks, and return whether tables were left because of `max_tasks`."""
        after = self._firing.position or await self._parts.firings.start_of(self._firing)
        async with aclosing(self._batches(after)) as batches:
            async for tables in batches:
                while tables:
                    left = self._schedule.settings.max_tasks - self._firing.submitted
                    if left <= 0:
                        return True
                    await self._store(tables[:left])
                    tables = tables[left:]
        return False

    async def _renew(self) -> None:
        """Keep the claim, because another service would list the same tables again."""
        while True:
            await anyio.sleep(_RENEWAL)
            try:
                await self._parts.firings.renew(self._firing)
            except (Unavailable, StatementRefused) as error:
                log.warning("schedule %s: %s", self._schedule.name, error.detail or error.message)

    def _batches(self, after: TableName | None) -> AsyncGenerator[Sequence[TableName], None]:
        parent_id = self._firing.parent_id
        if parent_id is None:
            return self._tables.batches(after)
        succeeded = SucceededTables(self._parts.store, self._schedule.selection, parent_id)
        return succeeded.batches(after)

    async def _store(self, tables: Sequence[TableName]) -> None:
        payloads = list(self._payloads(tables))
        name, times = self._schedule.name, self._times
        origin = Origin(name, self._firing.id, times.due_at, times.start_by)
        parts, client = self._parts, _CLIENT.format(name)
        async with parts.store.append() as connection:
            now = (await connection.execute(select(parts.now))).scalar_one()
            if times.start_by is not None and times.start_by <= now:
                raise WindowClosed("the window closed before all tasks were submitted")
            created = await create_free(connection, payloads, client, parts.cipher, origin, parts.now)
            self._firing = await parts.firings.move(
                connection,
                self._firing,
                last_schema=tables[-1].schema,
                last_table=tables[-1].table,
                submitted=self._firing.submitted + created,
                busy=self._firing.busy + len(payloads) - created,
            )

    def _payloads(self, tables: Sequence[TableName]) -> Iterator[TaskPayload]:
        for table in tables:
            try:
                payload = self._schedule.payload(table)
            except ValidationError:
                self._tables.unusable += 1
                continue
            self._parts.grants.check_payload(payload)
            yield payload

    async def _try_later(self, message: str, detail: str | None = None) -> None:
        parts, firing = self._parts, self._firing
        async with parts.store.read() as connection:
            now = (await connection.execute(select(parts.now))).scalar_one()
        if now - firing.opened_at > _LONGEST:
            await parts.fail(firing, message)
            return
        log.warning("schedule %s: %s", firing.schedule, storable_message(detail or message))
        await parts.firings.postpone(firing, _RETRY, message)

    async def _end(self, is_capped: bool) -> None:
        firing = self._firing
        most = self._schedule.settings.max_tasks
        notes = (
            "no table matches" if firing.position is None else None,
            f"{firing.busy} tables had another unfinished task" if firing.busy else None,
            *self._tables.notes(),
            f"max_tasks ({most}) is reached: the next firing continues" if is_capped else None,
        )
        message = "; ".join(filter(None, notes)) or None
        await self._parts.firings.end(firing, "SUBMITTED", message, capped=is_capped)
        log.info("schedule %s: %d tasks submitted", firing.schedule, firing.submitted)
