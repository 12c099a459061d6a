"""Files that a purge deletes in a second, beside a bare loop of batched deletions, on a local S3 store.

The purge's side is what one worker of Spark does with its part of a table: it looks first which of the
files are there, and how large they are, so that it counts what it really deletes.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import obstore

from benchmarks.support.report import Figures, Report
from sluicegate.api import RealmGrant, TemporaryCredentials
from sluicegate.testing.servers.seaweedfs import SeaweedFS
from sluicegate_spark.granted_locations import GrantedLocations
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.purge.deletion import BATCH, delete_objects

_SIZE = 100
_AT_ONCE = 16


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--files", type=int, default=20_000, help="of a table (default 20000)")
    parser.add_argument("--rounds", type=int, default=3, help="measurements (default 3)")


def run(options: argparse.Namespace) -> Report:
    """Both take turns, so that neither has the quieter minutes."""
    with (
        tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as directory,
        SeaweedFS.start(Path(directory)) as server,
    ):
        ours, bare = [], []
        for number in range(options.rounds):
            ours.append(_purged(server, _written(server, f"ours-{number}", options.files)))
            bare.append(_looped(server, _written(server, f"bare-{number}", options.files)))
    return Report(_median(ours), {"bare_loop": _median(bare)})


def _written(server: SeaweedFS, folder: str, files: int) -> list[str]:
    """Write a table's files; their keys, sorted."""
    keys = [f"{folder}/data/part-{number:07}.parquet" for number in range(files)]
    store, data = server.store(), bytes(_SIZE)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda key: obstore.put(store, key, data), keys))
    return keys


def _purged(server: SeaweedFS, keys: Sequence[str]) -> Figures:
    access = _access(server)
    locations = [f"s3://{server.bucket}/{key}" for key in keys]

    def delete() -> None:
        done = delete_objects(access, locations)
        if (done.deleted, done.size) != (len(keys), len(keys) * _SIZE):
            raise RuntimeError(f"the purge deleted something else: {done}")

    return _measured(len(keys), delete)


def _access(server: SeaweedFS) -> ObjectAccess:
    who = server.admin
    secret = {"access_key_id": who.access_key_id, "secret_access_key": who.secret_access_key}
    connection = {"endpoint": server.endpoint, "region": server.region, "path_style": "true"}
    bucket = f"s3://{server.bucket}"
    credentials = TemporaryCredentials(bucket, "aws", secret, None, connection)
    return ObjectAccess(
        credentials, GrantedLocations("prod", RealmGrant(locations=(f"{bucket}/",)), of_catalog=True)
    )


def _looped(server: SeaweedFS, keys: Sequence[str]) -> Figures:
    store = server.store()

    def delete() -> None:
        for start in range(0, len(keys), BATCH):
            obstore.delete(store, keys[start : start + BATCH])

    return _measured(len(keys), delete)


def _measured(files: int, delete: Callable[[], None]) -> Figures:
    began, cpu = time.monotonic(), time.process_time()
    delete()
    seconds, cpu_seconds = time.monotonic() - began, time.process_time() - cpu
    return {
        "files_per_second": files / seconds,
        "cpu_microseconds_per_file": cpu_seconds / files * 1e6,
    }


def _median(rounds: Sequence[Figures]) -> Figures:
    return {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
