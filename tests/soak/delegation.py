"""The delegation service with a worker, as a process of its own that purges tables in a folder."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.process.forked import Command
from support.process.installed import Site
from support.servers.serving import serving

from sluicegate_testing.secrets import keep_secret

CLIENT = "polaris"
_SECRET_VARIABLE = "SLUICEGATE_SOAK_DELEGATION_SECRET"
# A table is a folder, as in other tests. One that is held is not purged until it is let go.
_PURGE = """
import anyio
from pathlib import Path
from sluicegate.api import PluginConfig, TaskExecutor, TaskExecutorType, TaskProgress, TaskResult
from sluicegate.api import hookimpl

class Config(PluginConfig):
    lake: str

class Purge(TaskExecutor):
    def __init__(self, config, context):
        self.lake = Path(config.lake)
    async def run(self, task, resources, run):
        folder, done, size = self.lake / task.table.name, 0, 0
        while (folder / "held").exists():
            await anyio.sleep(0.1)
        for file in sorted(folder.glob("*.parquet")):
            size += file.stat().st_size
            file.unlink()
            done += 1
            run.report(TaskProgress("content", done, None, size))
            await anyio.sleep(0)
        await run.finish_stage("content")
        (folder / "metadata.json").unlink(missing_ok=True)
        return TaskResult("the table was purged", done, size)

@hookimpl
def sluicegate_register_task_executors():
    return [TaskExecutorType("purge", ("TABLE_PURGE",), Config, Purge)]
"""


@dataclass(frozen=True)
class Delegation:
    """The running service."""

    address: str
    lake: Path
    secret: str = field(repr=False)
    process: Command
    log_file: Path


@contextmanager
def running_delegation(
    folder: Path, settings: Mapping[str, Any], env: Mapping[str, str]
) -> Iterator[Delegation]:
    """Serve until the block ends."""
    lake, plugins = folder / "lake", folder / "plugins"
    for each in (lake, plugins):
        each.mkdir(parents=True)
    Site(plugins).install("purge", _PURGE)
    secret = secrets.token_urlsafe(32)
    keep_secret(secret)
    section = {
        "port": 0,
        "realm": "prod",
        "clients": {CLIENT: {"secret": {"env": _SECRET_VARIABLE}}},
        "executors": [{"type": "purge", "lake": str(lake)}],
        "lease": {"ttl": "60s", "heartbeat": "2s"},
        "worker": {"concurrency": 8, "poll_interval": "1s"},
    }
    file = folder / "gateway.yaml"
    file.touch(0o600)
    file.write_text(json.dumps({**settings, "delegation": section}))
    log_file = folder / "delegation.log"
    path = os.pathsep.join([str(plugins), env.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    with serving(
        folder,
        *("delegation", "serve", "--with-worker"),
        log_file=log_file,
        env={**env, "PYTHONPATH": path, _SECRET_VARIABLE: secret},
        fresh=True,
    ) as (process, address):
        yield Delegation(address, lake, secret, process, log_file)
