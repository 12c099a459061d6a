"""Opens the configured audit log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from sluicegate._util.tasks import cancel_all
from sluicegate.api import Event
from sluicegate.audit.log import NoAuditLog, SinkAuditLog
from sluicegate.audit.records import AuditLog
from sluicegate.config import Settings
from sluicegate.config.sections.audit import AuditSettings, EventSinkSettings, FileSinkSettings
from sluicegate.database import Store
from sluicegate.signing.keyring import KeyRing

if TYPE_CHECKING:
    from sluicegate.audit.chain import ChainKeys
    from sluicegate.audit.sinks.sink import Sink


@asynccontextmanager
async def audit_log(
    settings: Settings, keys: KeyRing, store: Store, notify: Callable[[Event], None]
) -> AsyncIterator[AuditLog]:
    """Open the audit log, until the block ends. It then writes what still waits."""
    section = settings.audit
    if section.mode == "off":
        yield NoAuditLog()
        return
    # A gateway without an audit log doesn't import these.
    from sluicegate.audit.retention import delete_old_records, index_records, seal_ends
    from sluicegate.audit.sinks.events import EventSink
    from sluicegate.audit.writers.best_effort import BestEffortWriter
    from sluicegate.audit.writers.required import RequiredWriter

    async with AsyncExitStack() as stack:
        sinks = []
        for sink in _sinks(section, chain_keys(section, keys), store):
            stack.push_async_callback(sink.aclose)
            sinks.append(sink)
        is_required = section.mode == "required"
        required = [RequiredWriter(sink) for sink in sinks if is_required]
        best_effort = [BestEffortWriter(sink) for sink in sinks if not is_required]
        for writing in [each.writing() for each in required] + [each.writing() for each in best_effort]:
            await stack.enter_async_context(writing)
        deleting = asyncio.create_task(delete_old_records(sinks, section.retention))
        sealing = asyncio.create_task(seal_ends(sinks))
        indexing = asyncio.create_task(index_records(sinks))
        stack.push_async_callback(cancel_all, deleting, sealing, indexing)
        events = any(isinstance(sink, EventSinkSettings) for sink in section.sinks)
        yield SinkAuditLog(required, best_effort, EventSink(notify).publish if events else None)


def chain_keys(section: AuditSettings, keys: KeyRing) -> ChainKeys:
    """Return the keys of the chains."""
    from sluicegate.audit.chain import ChainKeys

    return ChainKeys(keys, (key.get_secret_value().encode() for key in section.former_keys))


def _sinks(section: AuditSettings, keys: ChainKeys, store: Store) -> Iterator[Sink]:
    for sink in section.sinks:
        if isinstance(sink, FileSinkSettings):
            from sluicegate.audit.sinks.files.sink import FileSink

            yield FileSink.open(sink, keys, section.retention)
        elif not isinstance(sink, EventSinkSettings):
            yield _database_sink(keys, store)


def _database_sink(keys: ChainKeys, store: Store) -> Sink:
    from sluicegate.audit.sinks.database.sink import DatabaseSink
    from sluicegate.audit.sinks.database.transactions import Transactions

    database = store.database
    transactions: Transactions
    if database.dialect == "sqlite":
        from sluicegate.audit.sinks.database.sqlite import SqliteTransactions

        transactions = SqliteTransactions(database.target)
    else:
        from sluicegate.audit.sinks.database.postgresql import PostgresqlTransactions

        transactions = PostgresqlTransactions(database)
    return DatabaseSink(transactions, store, keys)
