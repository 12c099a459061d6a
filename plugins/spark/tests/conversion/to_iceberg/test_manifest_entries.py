"""Files of a Delta table become entries of manifests, without Spark."""

from __future__ import annotations

import orjson
import pytest

from sluicegate.api import UnsupportedOperation
from sluicegate_spark.conversion.to_iceberg.manifest_entries import EntryFormat
from sluicegate_spark.conversion.to_iceberg.schema import columns_of

from ..delta_parts import delta_field, delta_schema


@pytest.mark.parametrize(
    ("lower", "upper", "fits"),
    [
        ("1678-01-01T00:00:00.000Z", "2261-12-31T23:59:59.999Z", True),
        ("1677-12-31T23:59:59.999Z", "2024-01-01T00:00:00.000Z", False),
        ("2024-01-01T00:00:00.000Z", "9999-12-31T00:00:00.000Z", False),
        ("2024-01-01T00:00:00.000Z", "+12024-01-01T00:00:00.000Z", False),
        (None, None, True),
    ],
)
def test_timestamps_of_the_old_kind_are_refused_where_nanoseconds_overflow(
    lower: str | None, upper: str | None, *, fits: bool
) -> None:
    bounds = {"minValues": {"at": lower}, "maxValues": {"at": upper}}
    stats = orjson.dumps(bounds).decode()
    entries = EntryFormat(
        "s3://b/t", columns_of(delta_schema(delta_field("at", "timestamp")), {}, 0), []
    )
    entries.check_int96_timestamps(None)
    if fits:
        entries.check_int96_timestamps(stats)
    else:
        with pytest.raises(UnsupportedOperation, match="TIMESTAMP_MICROS"):
            entries.check_int96_timestamps(stats)
