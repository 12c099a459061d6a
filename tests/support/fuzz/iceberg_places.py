"""Tables of the gateway that is fuzzed, as an Iceberg client knows them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from support.fuzz.fuzz_strategies import HeaderPair
from support.fuzz.fuzzing import Fuzzer
from support.fuzz.plan_bodies import PlannedTable, columns_of

DELEGATION: HeaderPair = ("x-iceberg-access-delegation", "remote-signing")
# What no path of a table that is shared in part may have.
_HIDDEN = {"part": "country=FR", "mine": "country=DE"}


@dataclass(frozen=True)
class IcebergPlace:
    """A table."""

    path: str
    headers: Sequence[HeaderPair]
    table: PlannedTable
    endpoint: str
    files: Sequence[str]
    hidden: str | None


def iceberg_place(fuzzer: Fuzzer, place: Mapping[str, str]) -> IcebergPlace:
    """Load a table and plan a scan of it."""
    path = "/iceberg/v1/shares/{share}/namespaces/{schema}/tables/{table}".format(**place)
    hidden = _HIDDEN.get(place["table"])
    loaded = fuzzer.ask("GET", path, [DELEGATION])
    if loaded.status != 200:
        return IcebergPlace(path, [DELEGATION], PlannedTable((), ()), "", (), hidden)
    metadata, config = loaded.json["metadata"], loaded.json["config"]
    current = metadata["current-snapshot-id"]
    [schema] = (
        each for each in metadata["schemas"] if each["schema-id"] == metadata["current-schema-id"]
    )
    plan = fuzzer.ask("POST", f"{path}/plan", [DELEGATION], b"{}").json
    files = [
        *(each["manifest-list"] for each in metadata["snapshots"]),
        *(each["data-file"]["file-path"] for each in plan["file-scan-tasks"]),
        *(each["file-path"] for each in plan["delete-files"]),
    ]
    table = PlannedTable(columns_of(schema), tuple(range(max(1, current - 3), current + 1)))
    return IcebergPlace(path, [DELEGATION], table, config["s3.endpoint"], files, hidden)


def file_part(path: str) -> str:
    """The path of a file without the proof that the gateway put before it."""
    return path.split("/", 5)[5]


def decoded_token(token: str) -> bytes | str:
    """The bytes of a token: different texts can have the same ones. A text that is not base64."""
    try:
        return base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return token
