"""Manages Spark: one session per worker, from which each task gets a separate one."""

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
from sluicegate_spark.cluster import FAIR, Pools, in_pool
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
from sluicegate_spark.jvm.requirements import jars_in

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")
_INTERRUPTIONS = 40
_PAUSE = 0.25  # seconds

EXTENSIONS = (
    "io.delta.sql.DeltaSparkSessionExtension",
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
)
"""What Delta Lake and Iceberg add to Spark's SQL."""
_EVERYWHERE = {"spark.sql.session.timeZone": "UTC", **OF_SESSIONS}
# Fixed when Spark starts; a Spark Connect server has its own values.
_STARTED = {"spark.ui.showConsoleProgress": "false", **FAIR, **OF_STARTS}
# Spark warns of these settings, which therefore are not set to their default values.
_DEFAULTS: Mapping[str, str] = {"spark.sql.parser.escapedStringLiterals": "false"}
_HERE = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
}


class TaskSession:
    """A session of one task, with separate settings and temporary views. It can be interrupted."""

    def __init__(
        self,
        spark: SparkSession,
        tag: str,
        secrets: Collection[str] = (),
        configured: Collection[str] = (),
        pool: str | None = None,
    ) -> None:
        self.spark = spark
        self._tag = tag
        self._secrets = secrets
        self._configured = configured
        self._pool = pool

    async def tune(self, settings: Mapping[str, str]) -> None:
        """Apply settings without secrets, except those that the executor's configuration contains."""
        own = {name: value for name, value in settings.items() if name not in self._configured}
        await self.run(lambda spark: _configure(spark, own))

    async def run(self, work: Callable[[SparkSession], _Result]) -> _Result:
        """Run a blocking function in a thread. When canceled, cancel its jobs on Spark."""
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
                with in_pool(self.spark, self._pool):
                    return work(self.spark)
            finally:
                self.spark.removeTag(self._tag)
        except Exception as error:
            failure = failed_on_spark(error, self._secrets)
            if failure is None:
                raise
            raise failure from error

    def _interrupt(self, begun: threading.Event, ended: threading.Event) -> None:
        """Interrupt the jobs repeatedly: a job that Spark is still planning starts later."""
        if not begun.wait(_PAUSE):
            return
        try:
            for _ in range(_INTERRUPTIONS):
                self.spark.interruptAll()  # tags are visible only to the thread that added them
                if ended.wait(_PAUSE):
                    return
        except Exception as error:
            log.warning("jobs of a task could not be interrupted: %s", type(error).__name__)
        else:
            log.warning("a task was stopped, but its work on Spark's driver continues")


class Engine:
    """Starts Spark when the first task needs it, and restarts it if it was lost.

    If this process already runs Spark, as in a notebook, tasks run there with its settings, and Spark
    keeps running after the tasks.
    """

    def __init__(self, config: SparkConfig) -> None:
        self._config = config
        self._spark: SparkSession | None = None
        self._context: SparkContext | None = None  # started here
        self._known = KnownSecrets(_secrets({}, self._given() | self._named()))
        self._pools = Pools()
        self._starting = threading.Lock()
        self._registered: frozenset[str] = frozenset()
        self._registering = threading.Lock()

    @asynccontextmanager
    async def session(
        self, task_id: str, conf: Mapping[str, str | SecretStr]
    ) -> AsyncIterator[TaskSession]:
        """Return a separate session for a task."""
        spark = await anyio.to_thread.run_sync(self._opened)
        given = self._given()
        settings = {
            name: value for name, value in conf.items() if name not in given or name.startswith("fs.")
        }
        secrets = _secrets(settings, given)
        try:
            with self._known.of_task(secrets), self._pools.pool() as pool:
                in_own = pool if self._config.remote is None else None
                tag = f"sluicegate-{task_id}"
                session = TaskSession(spark, tag, secrets, given.keys(), in_own)
                await session.run(lambda spark: self._configure(spark, settings))
                yield session
        finally:
            if self._config.remote is not None:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(spark.stop)

    async def aclose(self) -> None:
        """Stop Spark if it was started here."""
        await anyio.to_thread.run_sync(self._stop)

    def _opened(self) -> SparkSession:
        try:
            return self._connected() if self._config.remote is not None else self._new_session()
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

    def _new_session(self) -> SparkSession:
        """Return a new session of the Spark that the worker's session belongs to."""
        running = self._worker_session()
        session = running.newSession()
        if running.sparkContext is not self._context:
            _configure(session, _EVERYWHERE)
        return session

    def _worker_session(self) -> SparkSession:
        """Return the worker's session. If several tasks need it at once, one of them starts it."""
        with self._starting:
            if self._spark is not None and _is_stopped(self._spark):
                self._stop()  # otherwise, PySpark mistakes what remains for a running Spark
            if self._spark is None:
                # This logger repeats every error with Java's stack trace and the statement's content.
                logging.getLogger("SQLQueryContextLogger").disabled = True
                logging.getLogger("py4j").setLevel(logging.WARNING)
                self._spark = self._joined() or self._started()
            return self._spark

    def _joined(self) -> SparkSession | None:
        """Return the Spark that this process already runs; its settings stay unchanged."""
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
        """Start a JVM with Spark, unless this process already has a JVM. There can be only one."""
        from pyspark import SparkConf, SparkContext

        with SparkContext._lock:  # PySpark takes it while it starts a JVM
            if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
                return
            environment = jvm_environment(os.environ, self._config.environment)
            SparkContext(
                conf=SparkConf(loadDefaults=False).setAll(list(settings.items())),
                gateway=launch(settings, environment, self._known.hide),
            )

    def _name_python(self) -> None:
        """Set the Python that runs functions: PySpark reads it only from the environment."""
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
            settings["spark.sql.extensions"] = ",".join(EXTENSIONS)
        if self._config.jars is not None:
            settings["spark.jars"] = ",".join(jars_in(self._config.jars))
        if self._config.packages:
            settings["spark.jars.packages"] = ",".join(self._config.packages)
        return settings | self._given()

    def _named(self) -> dict[str, str]:
        """Return the environment variables that the configuration names."""
        return {name: os.environ[name] for name in self._config.environment if name in os.environ}

    def _given(self) -> dict[str, str]:
        given = {name: value.get_secret_value() for name, value in self._config.conf.items()}
        return with_our_patterns(given)

    def _configure(self, spark: SparkSession, settings: Mapping[str, str | SecretStr]) -> None:
        """Apply a task's settings to its session.

        The log level of a Spark Connect server is not changed.
        """
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
    """Return whether Spark was stopped, by this process or by itself."""
    java = spark.sparkContext._jsc
    return java is None or bool(java.sc().isStopped())


def _secrets(settings: Mapping[str, str | SecretStr], given: Mapping[str, str]) -> frozenset[str]:
    """Return secret values: all settings of a task, and configured settings with names of secrets.

    From an id and a secret separated by a colon, the secret alone is also included.
    """
    named = (value for name, value in given.items() if re.search(SECRET_NAMES, name))
    own = (value.get_secret_value() for value in settings.values() if isinstance(value, SecretStr))
    return frozenset(
        part for value in (*named, *own) for part in (value, value.partition(":")[2]) if part
    )


def _configure(spark: SparkSession, conf: Mapping[str, str | SecretStr]) -> None:
    for name, value in conf.items():
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        # Spark warns whenever some settings are set, even if the value doesn't change.
        if spark.conf.get(name, _DEFAULTS.get(name)) != text:
            spark.conf.set(name, text)
