"""Spark itself: one session a worker, from which each task has one of its own."""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread

from sluicegate.api import SecretStr
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.failures import failed_on_spark
from sluicegate_spark.jvm import launch
from sluicegate_spark.jvm.environment import jvm_environment
from sluicegate_spark.jvm.output import KnownSecrets
from sluicegate_spark.jvm.redaction import (
    OF_SESSIONS,
    OF_STARTS,
    SECRET_NAMES,
    forget_placeholders,
    register_names,
    secret_settings,
    with_our_patterns,
)
from sluicegate_spark.requirements import jars_in

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")
_INTERRUPTIONS = 40
_PAUSE = 0.25  # seconds

_EXTENSIONS = (
    "io.delta.sql.DeltaSparkSessionExtension",
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
)
_EVERYWHERE = {"spark.sql.session.timeZone": "UTC", **OF_SESSIONS}
# Fixed when Spark starts: a Spark Connect server has its own.
_STARTED = {"spark.ui.showConsoleProgress": "false", **OF_STARTS}
_HERE = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    # Delta's VACUUM runs so many tasks to list a directory; 10,000 are Spark's default.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(4 * (os.cpu_count() or 1)),
}


class TaskSession:
    """A task's own session: settings, temporary views and interruption are its own.

    Args:
        spark: The session.
        tag: Marks what it runs, for whoever looks at the cluster.
        secrets: What no failure may tell.
    """

    def __init__(self, spark: SparkSession, tag: str, secrets: Collection[str] = ()) -> None:
        self.spark = spark
        self._tag = tag
        self._secrets = secrets

    async def run(self, work: Callable[[SparkSession], _Result]) -> _Result:
        """Run something that blocks, in a thread; when it is cancelled, its jobs on Spark are, too.

        Raises:
            TaskFailed: The cluster failed, to be tried again, or the statement is wrong
                (`ENGINE_FAILED`).
        """
        begun, ended = threading.Event(), threading.Event()

        def watched() -> _Result:
            begun.set()
            try:
                return self._tagged(work)
            finally:
                ended.set()

        try:
            return await anyio.to_thread.run_sync(watched, abandon_on_cancel=True)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._interrupt, begun, ended)
            raise

    def _tagged(self, work: Callable[[SparkSession], _Result]) -> _Result:
        try:
            self.spark.addTag(self._tag)
            try:
                return work(self.spark)
            finally:
                self.spark.removeTag(self._tag)
        except Exception as error:
            failure = failed_on_spark(error, self._secrets)
            if failure is None:
                raise
            raise failure from error

    def _interrupt(self, begun: threading.Event, ended: threading.Event) -> None:
        """Again and again: a job that Spark was only planning begins behind the first interruption."""
        if not begun.wait(_PAUSE):
            return
        try:
            for _ in range(_INTERRUPTIONS):
                self.spark.interruptAll()  # a tag is known to the thread alone that added it
                if ended.wait(_PAUSE):
                    return
        except Exception as error:
            log.warning("a task's jobs could not be interrupted: %s", type(error).__name__)
        else:
            log.warning("a task was stopped, but what it does on Spark's driver goes on to its end")


class Engine:
    """Starts Spark when the first task needs it, and again if it was lost.

    Where this process runs Spark already, as a notebook does, tasks run there by its settings, and it
    goes on when they have ended.

    Args:
        config: Where it runs.
    """

    def __init__(self, config: SparkConfig) -> None:
        self._config = config
        self._spark: SparkSession | None = None
        self._context: SparkContext | None = None  # that was started here
        self._known = KnownSecrets(_secrets({}, self._given() | self._named()))
        self._starting = threading.Lock()
        self._registered: frozenset[str] = frozenset()
        self._registering = threading.Lock()

    @asynccontextmanager
    async def session(
        self, task_id: str, conf: Mapping[str, str | SecretStr]
    ) -> AsyncIterator[TaskSession]:
        """A session of its own for a task.

        Args:
            task_id: Marks its jobs.
            conf: Settings of the session. Those that are configured for all win, but for Hadoop's file
                systems: what opens a task's files is the task's alone.

        Raises:
            TaskFailed: Spark does not start, or the cluster does not answer.
        """
        spark = await anyio.to_thread.run_sync(self._opened)
        given = self._given()
        settings = {
            name: value for name, value in conf.items() if name not in given or name.startswith("fs.")
        }
        secrets = _secrets(settings, given)
        session = TaskSession(spark, f"sluicegate-{task_id}", secrets)
        try:
            with self._known.of_task(secrets):
                await session.run(lambda spark: self._configure(spark, settings))
                yield session
        finally:
            if self._config.remote is not None:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(spark.stop)

    async def aclose(self) -> None:
        """Stop Spark, if it was started here."""
        await anyio.to_thread.run_sync(self._stop)

    def _opened(self) -> SparkSession:
        try:
            return self._connected() if self._config.remote is not None else self._beside()
        except Exception as error:
            self._spark = None
            failure = failed_on_spark(error)
            if failure is None:
                raise
            raise failure from error

    def _connected(self) -> SparkSession:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.remote(str(self._config.remote))
        for name, value in (_EVERYWHERE | self._given()).items():
            builder = builder.config(name, value)
        return builder.create()

    def _beside(self) -> SparkSession:
        """A session beside the worker's."""
        running = self._here()
        session = running.newSession()
        if running.sparkContext is not self._context:
            _configure(session, _EVERYWHERE)
        return session

    def _here(self) -> SparkSession:
        """The worker's session; of tasks that need it at once, one starts it."""
        with self._starting:
            if self._spark is not None and _is_stopped(self._spark):
                self._stop()  # what PySpark keeps of it would be taken for one that runs
            if self._spark is None:
                # It logs every failure once more, with Java's stack and all that the statement held.
                logging.getLogger("SQLQueryContextLogger").disabled = True
                logging.getLogger("py4j").setLevel(logging.WARNING)
                self._spark = self._joined() or self._started()
            return self._spark

    def _joined(self) -> SparkSession | None:
        """What this process had already; its settings are left as they are."""
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        running = SparkContext._active_spark_context
        is_theirs = running is not None and running is not self._context
        return SparkSession.builder.getOrCreate() if is_theirs else None

    def _started(self) -> SparkSession:
        from pyspark.sql import SparkSession

        self._name_python()
        settings = self._settings()
        self._launch(settings)
        builder = SparkSession.builder
        for name, value in settings.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        self._context = spark.sparkContext
        return spark

    def _launch(self, settings: Mapping[str, str]) -> None:
        """Start a JVM and Spark in it, unless this process has a JVM, of which it can have one."""
        from pyspark import SparkConf, SparkContext

        with SparkContext._lock:  # as PySpark does while it starts one
            if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
                return
            environment = jvm_environment(os.environ, self._config.environment)
            SparkContext(
                conf=SparkConf(loadDefaults=False).setAll(list(settings.items())),
                gateway=launch(settings, environment, self._known.hide),
            )

    def _name_python(self) -> None:
        """PySpark reads only from the environment which Python runs the functions that it sends."""
        default = sys.executable if self._is_local else None
        if python := self._given().get("spark.pyspark.python", default):
            os.environ.setdefault("PYSPARK_PYTHON", python)

    @property
    def _is_local(self) -> bool:
        return self._config.master.startswith("local")

    def _settings(self) -> dict[str, str]:
        settings = {"spark.master": self._config.master, "spark.app.name": "sluicegate"}
        settings |= _EVERYWHERE | _STARTED
        if self._is_local:
            settings |= _HERE
        if self._config.jars is not None or self._config.packages:
            settings["spark.sql.extensions"] = ",".join(_EXTENSIONS)
        if self._config.jars is not None:
            settings["spark.jars"] = ",".join(jars_in(self._config.jars))
        if self._config.packages:
            settings["spark.jars.packages"] = ",".join(self._config.packages)
        return settings | self._given()

    def _named(self) -> dict[str, str]:
        """The environment variables that the configuration names."""
        return {name: os.environ[name] for name in self._config.environment if name in os.environ}

    def _given(self) -> dict[str, str]:
        given = {name: value.get_secret_value() for name, value in self._config.conf.items()}
        return with_our_patterns(given)

    def _configure(self, spark: SparkSession, settings: Mapping[str, str | SecretStr]) -> None:
        """Give a task's settings to its session; a Spark Connect server's log is the server's."""
        if self._config.remote is None:
            names = secret_settings(settings)
            with self._registering:
                self._registered |= names
            register_names(spark, names)
            forget_placeholders(spark, self._registered - names)
        _configure(spark, settings)

    def _stop(self) -> None:
        spark, self._spark = self._spark, None
        if spark is not None and spark.sparkContext is self._context:
            spark.stop()


def _is_stopped(spark: SparkSession) -> bool:
    """Whether it was stopped from here, or by itself."""
    java = spark.sparkContext._jsc
    return java is None or bool(java.sc().isStopped())


def _secrets(settings: Mapping[str, str | SecretStr], given: Mapping[str, str]) -> frozenset[str]:
    """The values that are secrets: of a task's settings, and of those with the names of secrets.

    Of an id and a secret with a colon between them, the secret alone is one as well.
    """
    named = (value for name, value in given.items() if re.search(SECRET_NAMES, name))
    own = (value.get_secret_value() for value in settings.values() if isinstance(value, SecretStr))
    return frozenset(
        part for value in (*named, *own) for part in (value, value.partition(":")[2]) if part
    )


def _configure(spark: SparkSession, conf: Mapping[str, str | SecretStr]) -> None:
    for name, value in conf.items():
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        # Spark warns of some settings whenever they are set, also to what they are.
        if spark.conf.get(name, None) != text:
            spark.conf.set(name, text)
