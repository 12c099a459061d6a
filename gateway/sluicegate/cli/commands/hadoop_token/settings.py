"""The output of `sluicegate hadoop-token`: the tokens, and the settings for Spark and MapReduce."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sluicegate._util.clock import iso_utc

_LOCATION = "HADOOP_TOKEN_FILE_LOCATION"


def describe_issued(file: Path, tokens: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The lines to print after tokens were issued."""
    path = str(file.absolute())
    properties = {key: value for token in tokens for key, value in token["configuration"].items()}
    for token in tokens:
        yield from _token(token)
    if any(token["bonded"] for token in tokens):
        yield "  reused tokens need the endpoint and region that were printed when they were issued"
    yield ""
    yield "# Spark: environment of the driver, and lines of spark-defaults.conf"
    yield f"export {_LOCATION}={path}"
    yield f"spark.executorEnv.{_LOCATION}  {path}"
    yield from (f"spark.hadoop.{name}  {value}" for name, value in properties.items())
    yield ""
    yield "# MapReduce: options of the job"
    yield f"-Dmapreduce.job.credentials.binary={path}"
    yield from (f"-D{name}={value}" for name, value in properties.items())


def issued_as_json(file: Path, tokens: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The output of `sluicegate hadoop-token issue --json`."""
    path = str(file.absolute())
    return {
        "file": path,
        "environment": {_LOCATION: path},
        "configuration": {
            key: value for token in tokens for key, value in token["configuration"].items()
        },
        "tokens": [
            {
                "service": token["service"],
                "kind": token["kind"],
                "expires_at": iso_utc(token["expirationTime"]) if token["expirationTime"] else None,
                "reused": token["bonded"],
                "tables": [
                    {"name": table["name"], "location": table["location"]} for table in token["tables"]
                ],
            }
            for token in tokens
        ],
    }


def _token(token: Mapping[str, Any]) -> Iterator[str]:
    expires = token["expirationTime"]
    until = f"expires {iso_utc(expires)}" if expires else "does not expire"
    kept = ", reused" if token["bonded"] else ""
    yield f"{token['service']}: {token['kind']}, {until}{kept}"
    for table in token["tables"]:
        yield f"  {table['name']}: {table['location']}"
