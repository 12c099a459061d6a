"""Starts Spark's JVM; PySpark would put settings on its command line and pass on the environment.

Source: PySpark 4.1, `pyspark.java_gateway.launch_gateway`: what a JVM needs to be started with, and how
a process joins one that runs (`PYSPARK_GATEWAY_PORT` and `PYSPARK_GATEWAY_SECRET`).
"""

from __future__ import annotations

import os
import shlex
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sluicegate_spark.jvm.output import log_output
from sluicegate_spark.jvm.settings import write_settings

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

_INFO: Final = "_PYSPARK_DRIVER_CONN_INFO_PATH"
_PORT: Final = "PYSPARK_GATEWAY_PORT"
_SECRET: Final = "PYSPARK_GATEWAY_SECRET"  # noqa: S105 (a name)
_PAUSE: Final = 0.1  # seconds
_LOGGED: Final = 5.0  # seconds, for what it printed before it ended
# The worker drains at a signal, and Spark runs its tasks meanwhile. Java leaves signals alone that are
# ignored when it starts; systemd signals all processes of a service, whatever their session.
_IGNORING: Final = ("/bin/sh", "-c", 'trap "" INT TERM; exec "$@"', "sh")


def launch(
    settings: Mapping[str, str], environment: Mapping[str, str], hide: Callable[[str], str]
) -> JavaGateway:
    """Start a JVM in its own session; it ends with this process, at the latest.

    Args:
        settings: Spark's; nobody else can read them.
        environment: All the variables that it gets.
        hide: Takes secrets out of a line that it prints, before that is logged.

    Returns:
        PySpark's connection with it.

    Raises:
        PySparkRuntimeError: It ended at once; the log says why.
    """
    from pyspark.find_spark_home import _find_spark_home

    home = _find_spark_home()
    with tempfile.TemporaryDirectory(prefix="sluicegate-spark-") as folder:
        private = Path(folder)
        info = private / "connection"
        printed, printing = os.pipe()
        process = subprocess.Popen(
            [
                *(*_IGNORING, str(Path(home, "bin", "spark-submit")), "--load-spark-defaults"),
                *("--properties-file", str(write_settings(private, settings))),
                *shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell")),
            ],
            env={**environment, "SPARK_HOME": home, "SPARK_CONNECT_MODE": "0", _INFO: str(info)},
            stdin=subprocess.PIPE,  # the JVM ends with it
            stdout=printing,
            stderr=printing,
            start_new_session=True,
        )
        os.close(printing)
        output = log_output(open(printed, "rb", buffering=0), hide)  # noqa: PTH123, SIM115 (a pipe)
        try:
            port, secret = _awaited(process, info)
            gateway = _joined(port, secret)
        except BaseException:
            _end(process)
            output.join(_LOGGED)
            raise
    gateway.proc = process  # keeps its standard input open, with which it ends
    return gateway


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _awaited(process: subprocess.Popen[bytes], info: Path) -> tuple[int, str]:
    """The port that the JVM listens on, and what proves a client to it."""
    from pyspark.errors import PySparkRuntimeError

    while not info.is_file():
        if process.poll() is not None:
            raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
        time.sleep(_PAUSE)
    port, length = struct.unpack_from(">ii", written := info.read_bytes())
    return port, written[8 : 8 + length].decode()


def _joined(port: int, secret: str) -> JavaGateway:
    """PySpark reads only from the environment which JVM it should join."""
    from pyspark.java_gateway import launch_gateway

    os.environ |= {_PORT: str(port), _SECRET: secret}
    try:
        return launch_gateway()
    finally:
        del os.environ[_PORT], os.environ[_SECRET]
