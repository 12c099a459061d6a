"""Times that no clock shows in UTC, at every parameter that takes one, and within a table's log."""

from __future__ import annotations

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from hypothesis import HealthCheck, given, settings
from support.gateways.attacked import Attacked
from support.gateways.shared_lake import LakeTable
from support.tables.deltalog import metadata, protocol

BEYOND = (
    "0001-01-01T00:00:00+23:59",
    "0001-01-01T00:00:00.000001+00:01",
    "9999-12-31T23:59:59-12:00",
    "9999-12-31T23:59:59.999999-23:59",
)
FURTHEST = ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z")
PLACES = (
    ("GET", "version", ("startingTimestamp",)),
    ("GET", "metadata", ("timestamp",)),
    ("GET", "changes", ("startingTimestamp",)),
    ("GET", "changes?startingVersion=0", ("endingTimestamp",)),
    ("POST", "query", ("timestamp",)),
)


@pytest.fixture(scope="module")
def table(attacked: Attacked) -> LakeTable:
    table = attacked.lake.table()
    on = {"delta.enableChangeDataFeed": "true"}
    write_deltalake(table.root, pa.table({"id": [1, 2, 3]}), configuration=on)
    return table


def statuses(attacked: Attacked, table: LakeTable, moment: str) -> dict[str, int]:
    """How each place answers a time."""
    found = {}
    for method, place, names in PLACES:
        for name in names:
            address = attacked.attacker.build_request(method, f"{table.path()}/{place}").url
            answer = (
                attacked.attacker.post(address, json={name: moment})
                if method == "POST"
                else attacked.attacker.get(address.copy_set_param(name, moment))
            )
            found[f"{place} {name}"] = answer.status_code
    return found


@pytest.mark.parametrize("moment", BEYOND)
def test_a_time_beyond_all_calendars_is_a_bad_request(
    attacked: Attacked, table: LakeTable, moment: str
) -> None:
    assert set(statuses(attacked, table, moment).values()) == {400}


@pytest.mark.parametrize("moment", FURTHEST)
def test_the_first_and_the_last_time_are_answered(
    attacked: Attacked, table: LakeTable, moment: str
) -> None:
    assert set(statuses(attacked, table, moment).values()) <= {200, 400}


def test_no_time_is_an_internal_error(attacked: Attacked, table: LakeTable) -> None:
    edges = st.sampled_from(("0001-01-01", "0001-01-02", "9999-12-30", "9999-12-31", "2022-01-01"))
    offset = st.tuples(st.sampled_from("+-"), st.integers(0, 24), st.integers(0, 60)).map(
        lambda parts: f"{parts[0]}{parts[1]:02}:{parts[2]:02}"
    )
    moments = st.tuples(edges, st.just("T"), st.times().map(str), st.one_of(st.just("Z"), offset)).map(
        "".join
    )

    @settings(
        max_examples=60,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(moments)
    def each(moment: str) -> None:
        found = statuses(attacked, table, moment)
        assert set(found.values()) <= {200, 400}, found

    each()


@pytest.mark.parametrize("written", [2**63 - 1, 2**62, -(2**62)])
def test_a_commit_of_no_known_time_is_no_internal_error(attacked: Attacked, written: int) -> None:
    table = attacked.lake.table()
    table.folder.commit(
        0,
        {"commitInfo": {"inCommitTimestamp": written}},
        protocol(),
        metadata(delta__enableInCommitTimestamps="true"),
    )
    found = statuses(attacked, table, "2022-01-01T00:00:00Z")
    assert set(found.values()) <= {200, 400}, found
