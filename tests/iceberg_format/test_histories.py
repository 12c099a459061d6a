"""Random histories: a recipient gets the rows that PyIceberg reads, now and at every version."""

from __future__ import annotations

import pytest
from pyiceberg.table.snapshots import ancestors_of
from support.clients.iceberg_reading import IcebergReading
from support.gateways.iceberg_sharing import SCHEMA as SCHEMA_NAME
from support.gateways.iceberg_sharing import SHARE, IcebergSharing
from support.process.random_cases import cases
from support.tables.iceberg_history import SCHEMA, IcebergHistory
from support.tables.rows import assert_same_rows

_LENGTH = 10

pytestmark = [
    pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
    # Of PyIceberg, where nothing is left to delete.
    pytest.mark.filterwarnings("ignore:Delete operation did not match any records:UserWarning"),
]


@pytest.mark.parametrize("seed", range(cases(8)))
def test_a_recipient_gets_what_pyiceberg_reads(lake: IcebergSharing, seed: int) -> None:
    name, table = lake.table(SCHEMA)
    history = IcebergHistory(table, seed)
    for _ in range(_LENGTH):
        history.change()
        print(history.done)  # all that is needed to repeat it, where this fails
        assert_same_rows(table.scan().to_arrow(), lake.recipient.read(name))
    snapshot = table.current_snapshot()
    while snapshot is not None and snapshot.parent_snapshot_id is not None:
        snapshot = table.snapshot_by_id(snapshot.parent_snapshot_id)
        assert snapshot is not None
        wanted = table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
        # The client agrees on a format by the latest version, which may have no deleted rows any more.
        old = lake.recipient.read(name, version=snapshot.sequence_number, use_delta_format=True)
        assert_same_rows(wanted, old)
    reading = IcebergReading(lake.recipient.profile, SHARE, (SCHEMA_NAME, name), seed)
    ancestors = list(ancestors_of(table.current_snapshot(), table.metadata))[::-1]
    assert reading.versions == [each.sequence_number for each in ancestors]
    for each in ancestors[:-1]:  # the latest one has the table's schema, not its own
        wanted = table.scan(snapshot_id=each.snapshot_id).to_arrow()
        assert_same_rows(wanted, reading.rows(each.sequence_number or 0).to_pandas())
