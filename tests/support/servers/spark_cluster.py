"""A standalone Spark cluster on loopback: a master, and workers, of which two drivers use a core each.

As its documentation demands, all processes prove to each other that they know a secret, and encrypt
what they exchange: executors get the settings and credentials of tasks from the driver.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sluicegate_spark.jvm.launch import write_settings
from sluicegate_testing.secrets import keep_secret
from sluicegate_testing.servers.ports import free_port

WORKERS = 2
DRIVERS = 2
_START_SECONDS = 240
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_REGISTERED = "Registering worker "
_SECRET = "known-to-all-processes-of-the-cluster"
_AUTHENTICATED: Mapping[str, str] = {
    "spark.authenticate": "true",
    "spark.authenticate.secret": _SECRET,
    "spark.network.crypto.enabled": "true",
}
# A driver uses a core of each worker. Executors connect to the driver, so it names its address.
OF_DRIVERS: Mapping[str, str] = {
    **_AUTHENTICATED,
    "spark.cores.max": str(WORKERS),
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.cores": "1",
    "spark.executor.memory": "768m",
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.pyspark.python": sys.executable,
    "spark.ui.enabled": "false",
}


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[str]:
    """Run a cluster until the block ends.

    Yields:
        What the executor's setting `master` wants.
    """
    folder.mkdir(parents=True, exist_ok=True)
    keep_secret(_SECRET)
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        log = folder / "master.log"
        settings = str(write_settings(folder, _AUTHENTICATED))
        here = ("--host", "127.0.0.1", "--webui-port", "0", "--properties-file", settings)
        stack.enter_context(_running(log, _MASTER, *here, "--port", str(port)))
        for number in range(WORKERS):
            work = ("--work-dir", str(folder / f"work-{number}"))
            size = ("--cores", str(DRIVERS), "--memory", f"{DRIVERS}g")
            stack.enter_context(
                _running(folder / f"worker-{number}.log", _WORKER, *here, *size, *work, master)
            )
        _await_workers(log)
        yield master


@contextmanager
def _running(log: Path, name: str, *arguments: str) -> Iterator[None]:
    import pyspark

    home = Path(pyspark.__file__).parent
    with log.open("wb") as written:
        process = subprocess.Popen(
            # The script becomes the JVM itself.
            [str(home / "bin" / "spark-class"), name, *arguments],
            cwd=log.parent,
            env={**os.environ, "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m"},
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=60)


def _await_workers(log: Path) -> None:
    """Wait until all workers have registered."""
    end = time.monotonic() + _START_SECONDS
    while log.read_text().count(_REGISTERED) < WORKERS:
        if time.monotonic() > end:
            raise RuntimeError(f"Spark's workers did not register:\n{log.read_text()}")
        time.sleep(0.2)
