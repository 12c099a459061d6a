"""The Delta project's own reader tables, unpacked from `../shared/golden-tables` of the checkout."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import zstandard
from support.process.external_files import require_external_files
from support.tables.reader_tables.served import Served, broken, missing

HIVE = "hive"
_SUFFIX = ".tar.zst"
_NTZ, _MAPPING, _VECTORS = "timestampNtz", "columnMapping", "deletionVectors"
# Those that are not served as their rows in both formats.
OTHERWISE_SERVED = {
    # A partition value of type timestamp has no zone (Delta protocol, "Partition Value Serialization"):
    # the reader's session decides. `expected/` was read in this zone; the client reads UTC.
    "data-reader-partition-values": Served(zone=("as_timestamp", "America/Los_Angeles")),
    "data-reader-timestamp_ntz": Served((_NTZ,)),
    "data-reader-timestamp_ntz-id-mode": Served((_NTZ, _MAPPING)),
    "data-skipping-basic-stats-all-types-columnmapping-id": Served((_MAPPING,)),
    "dv-partitioned-with-checkpoint": Served((_VECTORS,)),
    "log-replay-dv-key-cases": Served((_VECTORS,)),
    "parquet-all-types-legacy-format": Served((_NTZ,)),
    "table-with-columnmapping-mode-id": Served((_MAPPING,)),
    "table-with-columnmapping-mode-name": Served((_MAPPING,)),
    "canonicalized-paths-normal-a": Served(stand_ins=()),
    "canonicalized-paths-normal-b": Served(stand_ins=()),
    "canonicalized-paths-special-a": Served(stand_ins=()),
    "checkpoint": Served(stand_ins=["15"]),
    "deltalog-commit-info": Served(stand_ins=["abc"]),
    "update-deleted-directory": Served(stand_ins=[str(number) for number in range(1, 11)]),
    "deltalog-invalid-protocol-version": broken("reader version 99"),
    "deltalog-state-reconstruction-from-checkpoint-missing-metadata": broken("no metadata action"),
    "deltalog-state-reconstruction-without-metadata": broken("no metadata action"),
    "deltalog-state-reconstruction-without-protocol": broken("no protocol action"),
    "no-delta-log-folder": missing(),
    HIVE: missing(),  # a folder of tables, itself none
}


def golden_served() -> dict[str, Served]:
    """Every golden table and how it is served; empty where they are not available."""
    folder = golden_folder()
    names = sorted(path.name.removesuffix(_SUFFIX) for path in folder.glob(f"*{_SUFFIX}"))
    return {name: OTHERWISE_SERVED.get(name, Served()) for name in names}


def golden_folder() -> Path:
    """Where the archives are."""
    default = Path(__file__).resolve().parents[4] / "shared" / "golden-tables"
    return Path(os.environ.get("SLUICEGATE_GOLDEN_TABLES") or default)


def require_golden_tables() -> None:
    """Skip where the tables are not available; in CI that is a failure."""
    what = "the Delta project's golden tables, which many tests read next to tables of their own"
    require_external_files(bool(golden_served()), what, "SLUICEGATE_GOLDEN_TABLES")


def unpack(name: str, folder: Path) -> None:
    """Unpack a golden table into a folder that is named after it."""
    with (
        (golden_folder() / f"{name}{_SUFFIX}").open("rb") as compressed,
        zstandard.ZstdDecompressor().stream_reader(compressed) as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        tar.extractall(folder, filter="data")
