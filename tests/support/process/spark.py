"""A Spark session with Delta Lake, and the jars that it needs; as a program it fetches them.

More jars are more dependencies in `tests/spark/pom.xml`, more settings are `extra_conf`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROOT = Path(__file__).resolve().parents[3]
POM = _ROOT / "tests" / "spark" / "pom.xml"

_DELTA_SESSIONS = {
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
}
_JAVA_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_ARCHIVE_SECONDS = 300


def java_options() -> str:
    """Options of a small JVM, which loads Spark's classes from an archive if there is one.

    That saves a third of the CPU time of a start and a first query. The JVM ignores an archive that
    another version of Java or Spark wrote.
    """
    archive = _archive()
    if archive is None or not archive.exists():
        return _JAVA_OPTIONS
    return f"{_JAVA_OPTIONS} -XX:SharedArchiveFile={archive} -Xlog:cds=off -Xlog:cds+dynamic=off"


def _archive() -> Path | None:
    """The archive for the Java and the PySpark of this environment, if they are installed."""
    java, pyspark = shutil.which("java"), find_spec("pyspark")
    if java is None or pyspark is None or pyspark.origin is None:
        return None
    installed = [Path(java).resolve(), Path(pyspark.origin)]
    named = "".join(f"{path}{path.stat().st_mtime}" for path in installed)
    return _kept() / f"classes-{hashlib.sha256(named.encode()).hexdigest()[:12]}.jsa"


def _kept() -> Path:
    return Path(os.environ.get("SLUICEGATE_SPARK_JARS") or _ROOT / ".cache" / "spark-jars")


_DELTA = {"spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension", **_DELTA_SESSIONS}
SMALL_TABLES = {
    "spark.default.parallelism": "2",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    # Planning and compiling are most of what a query over twenty rows costs.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": java_options(),
}
QUIET = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "FATAL",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def missing() -> list[str]:
    """What a session needs and is not here; in CI that is an error, elsewhere a reason to skip."""
    programs = {"java": "a JDK 17", "mvn": "Maven, which downloads jars"}
    absent = [need for program, need in programs.items() if shutil.which(program) is None]
    return absent if find_spec("pyspark") else [*absent, "PySpark, which `tox -e spark` installs"]


def is_required() -> bool:
    """Nothing may be missing where this runs."""
    return os.environ.get("CI") == "true"


def require_spark() -> None:
    """Skip the test where something is missing; fail it where nothing may be."""
    from support.process.external_files import require_available  # not where this runs as a program

    absent = missing()
    require_available(not absent, "Spark", f"install {' and '.join(absent)}")


def jars(pom: Path = POM) -> list[Path]:
    """The jars of a project file, fetched through Maven where they are not there yet.

    They are kept in `.cache/spark-jars`, or where SLUICEGATE_SPARK_JARS says.
    """
    folder = _kept() / hashlib.sha256(pom.read_bytes()).hexdigest()[:12]
    if not folder.exists():
        _fetch(pom, folder)
    return sorted(folder.glob("*.jar"))


@contextmanager
def spark_session(
    folder: Path, extra_conf: Mapping[str, str] | None = None, stop_seconds: float = 30
) -> Iterator[SparkSession]:
    """A session that keeps its own files in a folder, until the block ends."""
    from pyspark.sql import SparkSession

    places = {
        "spark.jars": ",".join(map(str, jars())),
        "spark.pyspark.python": sys.executable,
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    builder = SparkSession.builder.master("local[2]").appName("sluicegate")
    for name, value in (_DELTA | SMALL_TABLES | QUIET | places | dict(extra_conf or {})).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        _stop(session, stop_seconds)


@contextmanager
def connected_session(remote: str) -> Iterator[SparkSession]:
    """A session of a Spark Connect server, until the block ends.

    From then on, PySpark's functions in this process are those of Spark Connect.
    """
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote(remote)
    for name, value in (_DELTA_SESSIONS | {"spark.sql.session.timeZone": "UTC"}).items():
        builder = builder.config(name, value)
    session = builder.create()
    try:
        yield session
    finally:
        session.stop()


def _stop(session: SparkSession, seconds: float = 30) -> None:
    """Stop the session, and with it its JVM, which would stay until this process ends."""
    gateway = session.sparkContext._gateway
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=seconds)


def _fetch(pom: Path, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as partial:
        target = Path(partial) / "jars"
        done = subprocess.run(
            [
                *("mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"),
                *("-DincludeScope=runtime", f"-DoutputDirectory={target}"),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"Maven cannot fetch the jars of {pom}:\n{done.stdout}{done.stderr}")
        if not folder.exists():  # another worker was quicker
            target.rename(folder)


def _archive_classes() -> None:
    """Write the archive for `java_options`, from a small JVM that does what most tests do."""
    archive = _archive()
    if archive is None or archive.exists():
        return
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        partial, table = Path(folder) / archive.name, f"{folder}/table"
        options = {
            "spark.driver.extraJavaOptions": f"{_JAVA_OPTIONS} -XX:ArchiveClassesAtExit={partial}"
        }
        with spark_session(Path(folder), options, _ARCHIVE_SECONDS) as spark:
            spark.range(3).write.format("delta").save(table)
            spark.sql(f"DELETE FROM delta.`{table}` WHERE id = 1")  # noqa: S608
            spark.read.format("delta").load(table).collect()
        partial.replace(archive)
    size = archive.stat().st_size / 1e6
    print(f"archived Spark's classes: {size:.0f} MB, after {time.monotonic() - began:.0f} s")


def main() -> None:
    """Fetch the jars, archive Spark's classes, and say what is there."""
    if absent := missing():
        said = f"the Spark tests need {' and '.join(absent)}"
        sys.exit(said) if is_required() else print(f"{said}: they will be skipped")
        return
    began = time.monotonic()
    found = jars()
    size = sum(path.stat().st_size for path in found) / 1e6
    print(f"{len(found)} jars, {size:.0f} MB, after {time.monotonic() - began:.0f} s:")
    for path in found:
        print(f"  {path.relative_to(path.parents[1])}")
    _archive_classes()


if __name__ == "__main__":
    main()
