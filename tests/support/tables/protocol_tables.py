"""Tables that can be served and tables that cannot, and how they are shared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake
from support.tables.reader_tables.own import OWN

VECTORS, MAPPED, FUTURE = (
    "vectors-by-partition-in-a-checkpoint",
    "mapped-by-name",
    "fault-reader-version",
)
_FEED = {"delta.enableChangeDataFeed": "true"}


def write_tables(lake: Path) -> None:
    """Write the tables that `shares` names, except those that are missing there on purpose."""
    for version in range(4):
        rows = pa.table({"id": [version * 10 + 1, version * 10 + 2], "country": ["DE", "FR"]})
        write_deltalake(lake / "orders", rows, mode="append", partition_by=["country"])
        write_deltalake(
            lake / "fed", rows, mode="append", partition_by=["country"], configuration=_FEED
        )
    for number in range(4):
        write_deltalake(lake / "moving", pa.table({"id": [number]}), mode="append")
    for name in (VECTORS, MAPPED, FUTURE):
        OWN[name].write(lake / name)
    log = lake / "corrupt" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text('{"protocol": nonsense')


def settings(lake: Path) -> dict[str, Any]:
    """A gateway over one folder."""
    return {
        "catalogs": {"raw": {"type": "paths"}},
        "storage": [{"type": "file", "prefix": f"file://{lake}/"}],
    }


def shares(lake: Path) -> dict[str, Any]:
    """Two shares and three recipients, of which none may read the second share."""

    def table(name: str, **options: object) -> dict[str, object]:
        return {"catalog": "raw", "table": f"file://{lake}/{name}", **options}

    tables = {
        "Orders": table("orders", history=True, comment="Sold things"),
        "recent": table("orders", history=True, start_version=2),
        "plain": table("orders"),
        "vectors": table(f"{VECTORS}/delta", history=True),
        "mapped": table(f"{MAPPED}/delta"),
        "future": table(f"{FUTURE}/delta"),
        "corrupt": table("corrupt"),
        "gone": table("gone"),
        "moving": table("moving"),
        "nowhere": {"catalog": "raw", "table": "s3://unserved/t"},
        "directory": table("orders", history=True, access_modes=["dir"]),
        "part": table("fed", history=True, change_feed=True, partition_filter="country = 'DE'"),
        "mine": table("orders", partition_filter="COUNTRY = recipient.country"),
        "misfiltered": table("orders", partition_filter="id = '1'"),
    }
    return {
        "shares": {
            "sales": {
                "comment": "Sales",
                "schemas": {"EU": {"tables": tables}, "us": {"tables": {}}},
            },
            "secret": {"schemas": {"eu": {"tables": {"orders": table("orders")}}}},
        },
        "recipients": {
            "acme": {"shares": ["sales"], "properties": {"country": "FR"}},
            "rival": {"shares": ["sales"]},
            "far": {"shares": ["sales"], "allow_from": ["203.0.113.0/24"]},
        },
    }
