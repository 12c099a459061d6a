"""A Spark Connect server on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from support.process.spark import QUIET, SMALL_TABLES

from sluicegate_spark.jvm.launch import write_settings
from sluicegate_testing.servers.ports import free_port

_START_SECONDS = 240
_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


@contextmanager
def spark_connect(folder: Path, extra_conf: Mapping[str, str] | None = None) -> Iterator[str]:
    """Serve until the block ends.

    Yields:
        What the executor's setting `remote` wants.
    """
    import pyspark

    folder.mkdir(parents=True, exist_ok=True)
    port, home = free_port(), Path(pyspark.__file__).parent
    settings = {
        **SMALL_TABLES,
        **QUIET,
        "spark.master": "local[1]",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.local.dir": str(folder),
        **(extra_conf or {}),
    }
    with (folder / "connect.log").open("wb") as log:
        process = subprocess.Popen(
            # The script becomes the JVM itself.
            [
                *(str(home / "bin" / "spark-submit"), "--properties-file"),
                *(str(write_settings(folder, settings)), "--class", _CLASS, "spark-internal"),
            ],
            cwd=folder,
            env={**os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        _await(process, port, folder / "connect.log")
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=60)


def _await(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until it listens."""
    end = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise RuntimeError(f"the Spark Connect server did not start:\n{log.read_text()}")
