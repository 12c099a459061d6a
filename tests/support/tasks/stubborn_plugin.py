"""A plugin whose executor does what a table's name says: ignores a stop, or has children."""

from __future__ import annotations

STUBBORN = """
import asyncio
import time
from contextlib import suppress
from pathlib import Path

from sluicegate.api import PluginConfig, TaskExecutor, TaskExecutorType, TaskFailed, TaskResult
from sluicegate.api import hookimpl

class Config(PluginConfig):
    notes: str

class Stubborn(TaskExecutor):
    def __init__(self, config, context):
        self.notes = Path(config.notes)

    async def run(self, task, resources, run):
        await getattr(self, task.table.name)(self.notes / task.table.name)
        return TaskResult("done")

    async def block(self, note):
        note.touch()
        while True:
            time.sleep(1)

    async def swallow(self, note):
        note.touch()
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(1)

    async def thread(self, note):
        note.touch()
        await asyncio.to_thread(time.sleep, 3600)

    async def child(self, note):
        await self.wait_for(note, "3600")

    async def session(self, note):
        await self.wait_for(note, "3", start_new_session=True)

    async def wait_for(self, note, seconds, **options):
        process = await asyncio.create_subprocess_exec("sleep", seconds, **options)
        note.touch()
        if await process.wait() != 0:
            raise TaskFailed("its child has died", error_code="ENGINE_FAILED", retryable=True)

@hookimpl
def sluicegate_register_task_executors():
    return [TaskExecutorType("stubborn", ("TABLE_PURGE",), Config, Stubborn)]
"""
