"""Where the tasks of tests run: in this process or the worker's, on a cluster, or in Spark Connect.

The environment variable SLUICEGATE_TASKS_ON decides. `spark-standalone` and `spark-connect` of tox.ini
set it, and leave out all tests that do not follow it, which are those without the fixture `tasks_on`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from support.process.spark import SMALL_TABLES, connected_session, jars, spark_session
from support.servers.spark_cluster import OF_DRIVERS, standalone_cluster
from support.servers.spark_connect import spark_connect

from sluicegate_spark.engine import EXTENSIONS
from sluicegate_spark.jvm.redaction import OF_STARTS
from sluicegate_spark.maintenance.catalog_settings import HTTP_CLIENT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TaskEngine = Literal["local", "standalone", "connect"]
LOCAL_MASTER = "local[2]"
_ENGINES: Mapping[str, TaskEngine] = {
    "local": "local",
    "standalone": "standalone",
    "connect": "connect",
}


def chosen_engine() -> TaskEngine:
    """Return the engine that the environment variable names; tests use the fixture `tasks_on`."""
    name = os.environ.get("SLUICEGATE_TASKS_ON") or "local"
    if name not in _ENGINES:
        raise ValueError(f"SLUICEGATE_TASKS_ON is {name!r}: expected {', '.join(_ENGINES)}")
    return _ENGINES[name]


@contextmanager
def running_engine(
    engine: TaskEngine, folder: Path, conf: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Run an engine until the block ends.

    Yields:
        The members of an executor's section that say where Spark runs, and with which settings.
    """
    if engine == "local":
        yield {"master": LOCAL_MASTER, "jars": str(jars()[0].parent), "conf": dict(conf)}
    elif engine == "standalone":
        with standalone_cluster(folder / "cluster") as master:
            yield {"master": master, "jars": str(jars()[0].parent), "conf": {**conf, **OF_DRIVERS}}
    else:
        with spark_connect(folder / "connect", _of_server(conf)) as remote:
            # The executor can't find out that the server lacks Iceberg's own choice.
            yield {"remote": remote, "conf": {HTTP_CLIENT: "urlconnection"}}


def _of_server(conf: Mapping[str, str]) -> dict[str, str]:
    return {
        **conf,
        "spark.master": LOCAL_MASTER,
        "spark.jars": ",".join(map(str, jars())),
        "spark.sql.extensions": ",".join(EXTENSIONS),
        # The server's event log shows the settings of sessions, as the documentation says.
        "spark.eventLog.enabled": "false",
        **OF_STARTS,
    }


@dataclass(frozen=True)
class SharedSpark:
    """The Spark of this process, which tests use beside the tasks of executors in this process."""

    engine: TaskEngine
    executor: Mapping[str, Any]
    _spark: SparkSession = field(repr=False)
    _opened: ExitStack = field(repr=False)

    @classmethod
    def of_this_machine(cls, spark: SparkSession) -> SharedSpark:
        """Return the Spark that this process already runs on this machine. It is not stopped."""
        return cls("local", {"master": LOCAL_MASTER, "conf": {}}, spark, ExitStack())

    @property
    def is_connect(self) -> bool:
        """Whether it is a Spark Connect server."""
        return self.engine == "connect"

    def session(self) -> SparkSession:
        """Return a new session, with separate settings."""
        if self.is_connect:
            return self._opened.enter_context(connected_session(self.executor["remote"]))
        return self._spark.newSession()

    def section(self, conf: Mapping[str, str] | None = None, **members: Any) -> dict[str, Any]:
        """Return the section of an executor, with further settings of Spark and other members."""
        return {**self.executor, "conf": {**self.executor["conf"], **(conf or {})}, **members}


@contextmanager
def shared_spark_on(engine: TaskEngine, folder: Path) -> Iterator[SharedSpark]:
    """Start the Spark of this process on an engine, until the block ends.

    A process can have only one: one cluster, or Spark Connect.
    """
    with running_engine(engine, folder, SMALL_TABLES) as executor, ExitStack() as opened:
        if engine == "connect":
            session = connected_session(executor["remote"])
        else:
            conf = {**executor["conf"], "spark.master": executor["master"]}
            session = spark_session(folder, conf)
        yield SharedSpark(engine, executor, opened.enter_context(session), opened)
