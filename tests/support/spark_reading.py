"""A Spark job of its own process, as tokens are read when a JVM starts: what it can read, as JSON.

Its argument is JSON with `conf`, `folder` and `reads`, a list of `[format, location]`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from support.spark import spark_session


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
