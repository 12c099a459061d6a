"""Workers as processes that start in no time, so that a hundred of them can be killed.

Each is `sluicegate delegation worker`, in a process of its own that opens the database, leases, beats
and records. The imports, most of what a start costs, were made once by the process it is forked from.
"""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing.context import ForkServerProcess
from pathlib import Path

LOG = "workers.gateway.log"
_IMPORTED = [
    "asyncpg",
    "fastavro",
    "obstore.store",
    "pyspark.sql.connect.session",
    "sluicegate.cli.main",
    "sluicegate.delegation.service",
    "sluicegate_spark.plugin",
    "sluicegate_spark.executor",
    "sqlalchemy.dialects.postgresql.asyncpg",
]


class Nursery:
    """Starts workers in a folder that holds a configuration."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(_IMPORTED)

    def start(self) -> ForkServerProcess:
        """A new worker; its name in leases holds its process id."""
        worker = self._context.Process(target=_work, args=(self._folder,))
        worker.start()
        return worker


def _work(folder: Path) -> None:
    """Be a worker, as the command is."""
    from sluicegate.cli.main import main

    os.chdir(folder)
    log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(log, stream)
    main(["delegation", "worker"])
