"""Starts Spark's JVM. PySpark would show settings on the command line and pass on the environment.

Source: Spark documentation and source, `pyspark.java_gateway.launch_gateway`: arguments that a JVM
needs at start, and how a process joins a running one (`PYSPARK_GATEWAY_PORT`,
`PYSPARK_GATEWAY_SECRET`).
"""

from __future__ import annotations

import os
import shlex
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sluicegate_spark.jvm.output import log_output

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway


# Spark's launcher puts the values of these on Java's command line.
_JAVA_OPTIONS: Final = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")
_ESCAPES: Final = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
_ESCAPED: Final = {ord(mark): escape for mark, escape in _ESCAPES.items()} | {
    ord(mark): f"\\{mark}" for mark in " =:#!"
}
_QUOTED: Final = {ord(mark): escape for mark, escape in _ESCAPES.items()} | {ord('"'): '\\"'}


def write_settings(folder: Path, settings: Mapping[str, str]) -> Path:
    """Write a file for `spark-submit --properties-file`.

    Each of Java's own options is written to a separate file of arguments. The launcher passes only
    the file name.
    """
    named = dict(settings)
    for name in _JAVA_OPTIONS:
        if options := shlex.split(settings.get(name, "")):
            lines = (f'"{_quoted(option)}"\n' for option in options)
            named[name] = f"@{_write(folder / name, ''.join(lines))}"
    lines = (f"{_escaped(name)}={_escaped(value)}\n" for name, value in named.items())
    return _write(folder / "spark.properties", "".join(lines))


def _write(file: Path, text: str) -> Path:
    file.touch(mode=0o600, exist_ok=False)
    file.write_text(text, encoding="utf-8")
    return file


def _escaped(text: str) -> str:
    """Escape for `java.util.Properties`. Non-ASCII characters stay UTF-8, as Spark expects."""
    return text.translate(_ESCAPED)


def _quoted(option: str) -> str:
    """Quote for Java's argument files (JDK documentation, "Command-Line Argument Files")."""
    return option.translate(_QUOTED)


_INFO: Final = "_PYSPARK_DRIVER_CONN_INFO_PATH"
_PORT: Final = "PYSPARK_GATEWAY_PORT"
_SECRET: Final = "PYSPARK_GATEWAY_SECRET"  # noqa: S105 (a name)
_PAUSE: Final = 0.1  # seconds
_LOGGED: Final = 5.0  # seconds to log what the JVM printed before it exited
# At a signal, the worker drains while Spark still runs its tasks. Java keeps ignoring signals that
# are ignored when it starts. A separate session is not enough: systemd signals all processes of a
# service.
_IGNORING: Final = ("/bin/sh", "-c", 'trap "" INT TERM; exec "$@"', "sh")


def launch(
    settings: Mapping[str, str], environment: Mapping[str, str], hide: Callable[[str], str]
) -> JavaGateway:
    """Start a JVM in its own session. It exits with this process at the latest.

    Returns:
        PySpark's connection to the JVM.
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
            stdin=subprocess.PIPE,  # the JVM exits when it closes
            stdout=printing,
            stderr=printing,
            start_new_session=True,
        )
        os.close(printing)
        running = threading.Event()
        stream = open(printed, "rb", buffering=0)  # noqa: PTH123, SIM115 (a pipe)
        output = log_output(stream, hide, running)
        try:
            port, secret = _awaited(process, info)
            gateway = _joined(port, secret)
            running.set()
        except BaseException:
            _end(process)
            output.join(_LOGGED)
            raise
    gateway.proc = process  # keeps the JVM's standard input open; the JVM exits when it closes
    return gateway


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _awaited(process: subprocess.Popen[bytes], info: Path) -> tuple[int, str]:
    """Return the port that the JVM listens on, and the secret that authenticates a client."""
    from pyspark.errors import PySparkRuntimeError

    while not info.is_file():
        if process.poll() is not None:
            raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
        time.sleep(_PAUSE)
    port, length = struct.unpack_from(">ii", written := info.read_bytes())
    return port, written[8 : 8 + length].decode()


def _joined(port: int, secret: str) -> JavaGateway:
    """Join a running JVM: PySpark reads its address only from the environment."""
    from pyspark.java_gateway import launch_gateway

    os.environ |= {_PORT: str(port), _SECRET: secret}
    try:
        return launch_gateway()
    finally:
        del os.environ[_PORT], os.environ[_SECRET]
