from __future__ import annotations

import pytest
from support.deltalog import DeltaFolder, add, metadata, protocol
from support.snapshots import latest

from sluicegate.errors import TableUnreadable


@pytest.mark.parametrize(
    "features",
    [
        ["deletionVectors", "columnMapping", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"],
        ["typeWidening", "variantType", "variantShredding"],
        ["typeWidening-preview", "variantType-preview", "variantShredding-preview"],
    ],
)
async def test_known_reader_features_are_read(folder: DeltaFolder, features: list[str]) -> None:
    folder.commit(0, protocol(3, *features), metadata(), add("a"))
    assert (await latest(folder)).protocol.reader_features == tuple(features)


@pytest.mark.parametrize("reader", [1, 2])
async def test_reader_versions_without_features_are_read(folder: DeltaFolder, reader: int) -> None:
    folder.commit(0, protocol(reader), metadata())
    assert (await latest(folder)).protocol.reader_features is None


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (
            protocol(3, "deletionVectors", "timeTravel", "aFeature"),
            "unknown to the gateway: aFeature, timeTravel",
        ),
        (protocol(4), "reader version 4; the gateway reads versions 1 to 3"),
        (protocol(0), "reader version 0"),
        (protocol(3, "catalogManaged"), "shared from that catalog, not by its path"),
        (protocol(3, "catalogOwned-preview"), "shared from that catalog, not by its path"),
    ],
)
async def test_what_the_gateway_does_not_understand_is_refused_by_name(
    folder: DeltaFolder, action: dict[str, object], message: str
) -> None:
    folder.commit(0, protocol(), metadata())
    first = await latest(folder)
    folder.commit(1, action)
    with pytest.raises(TableUnreadable, match=message):
        await latest(folder)
    with pytest.raises(TableUnreadable, match=message):
        await latest(folder, first)
