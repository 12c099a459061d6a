"""What is refused of change feeds and streams, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from protocols.delta_sharing.changes.logs import FEED, commit, write_changing_table
from support.clients.change_answers import ChangeAnswer, feed, stream
from support.gateways.shared_lake import LakeTable, SharedLake
from support.tables.deltalog import add, metadata, protocol

BAD, UNSUPPORTED = "INVALID_PARAMETER_VALUE", "UNSUPPORTED_OPERATION"


@dataclass(frozen=True)
class Wrong:
    """A request, the error code, and words of the message."""

    way: str
    asked: dict[str, Any]
    code: str
    says: str
    schema: str = "full"
    headers: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.way} {self.schema} {self.asked} {self.headers or ''}"


def bad_feed(code: str, says: str, schema: str = "full", **asked: Any) -> Wrong:
    return Wrong("feed", asked, code, says, schema)


def bad_stream(code: str, says: str, schema: str = "full", **asked: Any) -> Wrong:
    return Wrong("stream", asked, code, says, schema)


FUTURE, PAST = "2200-01-01T00:00:00Z", "2001-01-01T00:00:00Z"
# Of a table with versions 0 to 5.
CASES = [
    bad_feed(BAD, "startingVersion or startingTimestamp"),
    bad_feed(BAD, "startingVersion or startingTimestamp", endingVersion=1),
    bad_feed(BAD, "only one of", startingVersion=0, startingTimestamp=PAST),
    bad_feed(BAD, "only one of", startingVersion=0, endingVersion=1, endingTimestamp=FUTURE),
    bad_feed(BAD, "startingVersion", startingVersion=-1),
    bad_feed(BAD, "startingVersion", startingVersion="one"),
    bad_feed(BAD, "startingVersion", startingVersion=""),
    bad_feed(BAD, "startingVersion", startingVersion=2**63),
    bad_feed(BAD, "endingVersion", startingVersion=0, endingVersion="1.5"),
    bad_feed(BAD, "startingTimestamp", startingTimestamp="yesterday"),
    bad_feed(BAD, "offset", startingTimestamp="2022-01-01T00:00:00"),
    bad_feed(BAD, "endingTimestamp", startingVersion=0, endingTimestamp="5"),
    bad_feed(BAD, "latest version of the table, 5", startingVersion=6),
    bad_feed(BAD, "after the latest version", startingTimestamp=FUTURE),
    bad_feed(BAD, "before the earliest", startingVersion=0, endingTimestamp=PAST),
    bad_feed(BAD, "ends at version 2, before it starts at 3", startingVersion=3, endingVersion=2),
    bad_feed(BAD, "includeHistoricalMetadata", startingVersion=0, includeHistoricalMetadata="yes"),
    bad_feed(BAD, "includeHistoricalProtocol", startingVersion=0, includeHistoricalProtocol="1"),
    bad_feed(BAD, "maxFiles", startingVersion=0, maxFiles=0),
    bad_feed(BAD, "maxFiles", startingVersion=0, maxFiles="all"),
    bad_feed(BAD, "pageToken", startingVersion=0, pageToken="nonsense"),
    bad_feed(UNSUPPORTED, "history", "plain", startingVersion=0),
    bad_feed(UNSUPPORTED, "change data feed", "history", startingVersion=0),
    bad_feed(BAD, "first shared version", "recent", startingVersion=1),
    bad_feed(BAD, "startingTimestamp is empty", startingTimestamp=""),
    bad_feed(BAD, "endingTimestamp is empty", startingVersion=0, endingTimestamp=""),
    bad_feed(BAD, "pageToken is empty", startingVersion=0, pageToken=""),
    bad_feed(UNSUPPORTED, "temporary credentials", "directory", startingVersion=0),
    bad_feed(UNSUPPORTED, "partition filter", "german", startingVersion=0),
    Wrong("feed", {"startingVersion": 0}, BAD, "fileidhash", headers={"fileidhash": "md5"}),
    bad_stream(BAD, "only one of", startingVersion=0, version=1),
    bad_stream(BAD, "only one of", startingVersion=0, timestamp=PAST),
    bad_stream(BAD, "startingVersion", startingVersion="one"),
    bad_stream(BAD, "startingVersion", startingVersion=True),
    bad_stream(BAD, "startingVersion", startingVersion=1.5),
    bad_stream(BAD, "endingVersion", startingVersion=0, endingVersion=-1),
    bad_stream(BAD, "latest version of the table, 5", startingVersion=6),
    bad_stream(BAD, "latest version of the table, 5", startingVersion=0, endingVersion=6),
    bad_stream(BAD, "before it starts", startingVersion=3, endingVersion=2),
    bad_stream(BAD, "includeRefreshToken", startingVersion=0, includeRefreshToken=True),
    bad_stream(BAD, "refreshToken", startingVersion=0, refreshToken="token"),
    bad_stream(BAD, "maxFiles", startingVersion=0, maxFiles=0),
    bad_stream(BAD, "pageToken", startingVersion=0, pageToken=7),
    bad_stream(BAD, "includeHistoricalProtocol", startingVersion=0, includeHistoricalProtocol="x"),
    bad_stream(UNSUPPORTED, "history", "plain", startingVersion=0),
    bad_stream(BAD, "first shared version", "recent", startingVersion=1),
]


@pytest.fixture(scope="module")
def changing(lake: SharedLake) -> LakeTable:
    table = lake.table()
    write_changing_table(table)
    return table


@pytest.mark.parametrize("case", CASES, ids=str)
def test_wrong_request(case: Wrong, lake: SharedLake, changing: LakeTable) -> None:
    ask = feed if case.way == "feed" else stream
    response = ask(lake, changing, schema=case.schema, headers=case.headers, **case.asked)
    error = response.json()
    assert (response.status_code, error["errorCode"]) == (400, case.code), error
    assert case.says in error["message"]


def test_the_first_shared_version_and_later_ones_are_returned(
    lake: SharedLake, changing: LakeTable
) -> None:
    for ask in (feed, stream):
        response = ask(lake, changing, schema="recent", startingVersion=2)
        assert response.headers["delta-table-version"] == "2"


@pytest.mark.parametrize(
    ("start", "end", "named"), [(0, 5, 0), (1, 1, 1), (2, 3, None), (2, 4, 4), (2, 5, 4), (4, 5, 4)]
)
def test_a_range_in_which_the_feed_was_off_is_refused(
    lake: SharedLake, table: LakeTable, start: int, end: int, named: int | None
) -> None:
    commit(table, 0, protocol(), metadata(), add("0"))
    commit(table, 1, add("1"))
    commit(table, 2, metadata(**FEED), add("2"))
    commit(table, 3, add("3"))
    commit(table, 4, metadata(delta__enableChangeDataFeed="false"), add("4"))
    commit(table, 5, metadata(**FEED), add("5"))
    response = feed(lake, table, startingVersion=start, endingVersion=end)
    if named is None:
        assert response.status_code == 200
    else:
        assert response.json()["errorCode"] == UNSUPPORTED
        assert f"off in version {named}:" in response.json()["message"]


def test_versions_that_were_cleaned_up_are_refused_naming_the_first_that_can_be_rebuilt(
    lake: SharedLake, table: LakeTable
) -> None:
    write_changing_table(table)
    table.folder.parquet(f"{3:020}.checkpoint.parquet", [protocol(), metadata(**FEED), add("c")])
    for version in (0, 1):
        (table.folder.log / f"{version:020}.json").unlink()
    for ask in (feed, stream):
        for gone in (0, 1, 2):
            for end in (2, 3, 5):
                refused = ask(lake, table, startingVersion=gone, endingVersion=end)
                assert refused.json()["errorCode"] == "INVALID_PARAMETER_VALUE"
                assert "version 3 is the earliest to start from" in refused.json()["message"]
        assert ask(lake, table, startingVersion=3).status_code == 200
        assert ask(lake, table, startingVersion=4).status_code == 200


def test_times_name_the_first_version_that_can_be_rebuilt(lake: SharedLake, table: LakeTable) -> None:
    write_changing_table(table)
    table.folder.parquet(f"{3:020}.checkpoint.parquet", [protocol(), metadata(**FEED), add("c")])
    for version in (0, 1):
        (table.folder.log / f"{version:020}.json").unlink()
    early = "2000-01-01T00:00:00Z"
    found = lake.client().get(f"{table.path()}/version", params={"startingTimestamp": early})
    assert found.headers["delta-table-version"] == "3"
    answer = ChangeAnswer.of(feed(lake, table, startingTimestamp=early))
    assert answer.headers["delta-table-version"] == "3"
    assert answer.changed[0] == ("remove", 3, "b")
    path = f"{table.path()}/query"
    refused = lake.client().post(path, json={"timestamp": early})
    assert "version 3 of" in refused.json()["message"]
    refused = lake.client().post(path, json={"version": 2})
    assert "versions 3 to 5 can be read" in refused.json()["message"]


@pytest.mark.parametrize(
    "broken", [{"add": {"size": 1}}, {"add": {"path": "x"}}, {"cdc": {"path": "x"}}, {"add": 7}]
)
def test_a_broken_commit_is_no_internal_error(
    lake: SharedLake, table: LakeTable, broken: dict[str, Any]
) -> None:
    commit(table, 0, protocol(), metadata(**FEED), add("a"))
    commit(table, 1, broken)
    table.folder.parquet(f"{1:020}.checkpoint.parquet", [protocol(), metadata(**FEED), add("a")])
    response = feed(lake, table, startingVersion=1)
    assert (response.status_code, response.json()["errorCode"]) == (400, "TABLE_UNREADABLE")


def test_an_unknown_reader_feature_inside_the_range_is_refused(
    lake: SharedLake, table: LakeTable
) -> None:
    commit(table, 0, protocol(), metadata(**FEED), add("a"))
    commit(table, 1, protocol(3, "fromTheFuture"))
    commit(table, 2, protocol())
    response = feed(lake, table, startingVersion=0)
    assert response.json()["errorCode"] == "TABLE_UNREADABLE"
    assert "fromTheFuture" in response.json()["message"]
