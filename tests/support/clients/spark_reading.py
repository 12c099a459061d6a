"""What a Spark job of its own process can read: tokens and stores are kept as long as its JVM lives.

As a program it is the job, whose argument is JSON with `conf`, `folder` and `reads`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.process.spark import spark_session

_TESTS = Path(__file__).resolve().parents[2]


def read_by_spark(
    folder: Path,
    conf: Mapping[str, str],
    reads: Mapping[str, tuple[str, str]],
    env: Mapping[str, str] | None = None,
) -> Mapping[str, dict[str, Any]]:
    """What a job could read that finds no AWS keys around it: `ids` of rows, or Java's `error`."""
    ambient = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    job = {"conf": conf, "folder": str(folder), "reads": list(reads.values())}
    done = subprocess.run(
        [sys.executable, "-m", "support.clients.spark_reading", json.dumps(job)],
        env={**ambient, "PYTHONPATH": str(_TESTS), **(env or {})},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(reads, json.loads(done.stdout.splitlines()[-1]), strict=True))


def main() -> None:
    """Read each location; print rows, or what Java said."""
    job = json.loads(sys.argv[1])
    with spark_session(Path(job["folder"]), job["conf"]) as spark:
        print(json.dumps([_read(spark, *read) for read in job["reads"]]))


def _read(spark: Any, kind: str, location: str) -> dict[str, Any]:
    try:
        frame = spark.read.format(kind).load(location)
        return {"ids": sorted(row["id"] for row in frame.select("id").collect())}
    except Exception as error:
        return {"error": str(error)}


if __name__ == "__main__":
    main()
