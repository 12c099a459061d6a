"""Iceberg tables with so many scattered deletes that their vectors do not fit into an answer."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import httpx
import pyarrow as pa
from pyiceberg.table import Table
from pyroaring import BitMap64
from support.clients.recipient import Recipient
from support.tables.iceberg_deletes import data_files

ROWS = 500_000
FITS = 52_428  # bytes
TIMEOUT_SECONDS = 60
SCHEMA = pa.schema({"id": pa.int64()})


def scattered(seed: int) -> list[int]:
    """Half of all rows, in no order that a vector could tell shortly."""
    dice = random.Random(seed)
    rows = [row for row in range(ROWS) if dice.random() < 0.5]
    assert len(BitMap64(rows).serialize()) > FITS
    return rows


def fill(table: Table) -> str:
    """Append all rows in one file, whose location it is."""
    before = set(data_files(table))
    table.append(pa.table({"id": pa.array(range(ROWS), pa.int64())}))
    (file,) = set(data_files(table)) - before
    return file


def left(deleted: Sequence[int]) -> list[int]:
    """The rows of a file that are left."""
    return sorted(set(range(ROWS)).difference(deleted))


def vectors(recipient: Recipient, name: str, **question: Any) -> list[dict[str, Any]]:
    """The deletion vectors of a query's answer, each with its `deletionVectorFileId`."""
    profile = json.loads(recipient.profile.read_text())
    address = f"{profile['endpoint']}/shares/{recipient.share}/schemas/{recipient.schema}/tables/{name}"
    answer = httpx.post(
        f"{address}/query",
        json=question,
        timeout=TIMEOUT_SECONDS,
        headers={
            "Authorization": f"Bearer {profile['bearerToken']}",
            "delta-sharing-capabilities": "responseformat=delta;readerfeatures=deletionvectors",
        },
    )
    assert answer.status_code == 200, answer.text
    files = [each["file"] for each in map(json.loads, answer.text.splitlines()) if "file" in each]
    return [
        {**vector, "deletionVectorFileId": file.get("deletionVectorFileId")}
        for file in files
        if (vector := file["deltaSingleAction"]["add"].get("deletionVector"))
    ]
