"""Of a table that is shared in part, changes outside of that part are never signed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from protocols.delta_sharing.changes.logs import FEED, cdc, commit, full_remove
from support.clients.change_answers import ChangeAnswer, Said, feed, stream
from support.gateways.shared_lake import LakeTable, SharedLake
from support.process.random_cases import cases
from support.tables.deltalog import Action, add, metadata, protocol, remove

WAYS = {"feed": feed, "stream": stream}
# What each schema's filter lets `acme` see.
SHARED = {"german": "DE", "mine": "FR"}
COUNTRIES = ["DE", "FR", "de", "", None]


def of_country(action: Action, country: str | None) -> Action:
    ((kind, value),) = action.items()
    return {kind: {**value, "partitionValues": {"country": country, "day": "1"}}}


def partitioned(**values: Any) -> Action:
    return metadata(partitioned_by=["country", "day"], **FEED, **values)


_MOST_ACTIONS = 6
# Files whose `remove` in a later commit does not say of which country they are, as old writers' do.
OLD_FILES = [
    (of_country(add(f"old{number}-{country}"), country), country)
    for number in range(_MOST_ACTIONS)
    for country in COUNTRIES
]


@st.composite
def commits(draw: st.DrawFn) -> list[tuple[Action, str | None]]:
    """Actions, each with the country of its file."""
    makers = [add, full_remove, remove] + ([cdc] if draw(st.booleans()) else [])
    made: list[tuple[Action, str | None]] = []
    for number in range(draw(st.integers(0, _MOST_ACTIONS))):
        make, country = draw(st.sampled_from(makers)), draw(st.sampled_from(COUNTRIES))
        if make is remove:
            action = remove(f"old{number}-{country}")
        else:
            action = of_country(make(f"f{number}-{country}"), country)
        made.append((action, country))
    return made


@settings(
    max_examples=cases(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    history=st.lists(commits(), min_size=1, max_size=5),
    way=st.sampled_from(sorted(WAYS)),
    form=st.sampled_from(["parquet", "delta"]),
    schema=st.sampled_from(sorted(SHARED)),
    size=st.one_of(st.none(), st.integers(1, 4)),
)
def test_no_file_outside_the_shared_partitions_is_signed(
    lake: SharedLake,
    history: list[list[tuple[Action, str | None]]],
    way: str,
    form: str,
    schema: str,
    size: int | None,
) -> None:
    table = lake.table()
    commit(table, 0, protocol(), partitioned(), *(action for action, _ in OLD_FILES))
    for version, actions in enumerate(history, 1):
        commit(table, version, *(action for action, _ in actions))
    found: list[Said] = []
    asked: dict[str, Any] = {} if size is None else {"maxFiles": size}
    for _ in range(100):
        answer = ChangeAnswer.of(
            WAYS[way](lake, table, schema=schema, form=form, startingVersion=0, **asked)
        )
        found += answer.changed
        if answer.token is None:
            break
        asked["pageToken"] = answer.token
    assert found == expected([OLD_FILES, *history], way, SHARED[schema])


def expected(history: list[list[tuple[Action, str | None]]], way: str, country: str) -> list[Said]:
    lines: list[Said] = []
    for version, actions in enumerate(history):
        feed_files = way == "feed" and any("cdc" in action for action, _ in actions)
        kinds = ("cdc",) if feed_files else ("add", "remove")
        shown = [
            (kind, version, value["path"], place)
            for action, place in actions
            for kind, value in action.items()
            if kind in kinds
        ]
        first = {path: row for row, (_, _, path, _) in reversed(list(enumerate(shown)))}
        ordered = sorted(enumerate(shown), key=lambda item: (first[item[1][2]], item[0]))
        lines += [(kind, v, path) for _, (kind, v, path, place) in ordered if place == country]
    return lines


@pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS)
def test_a_recipient_without_the_property_is_forbidden(
    lake: SharedLake, table: LakeTable, ask: Any
) -> None:
    commit(table, 0, protocol(), partitioned(), of_country(add("a"), "FR"))
    response = ask(lake, table, schema="mine", recipient="rival", startingVersion=0)
    assert response.status_code == 403
    assert len(ChangeAnswer.of(ask(lake, table, schema="mine", startingVersion=0)).changed) == 1


@pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS)
def test_a_table_that_loses_the_filtered_column_is_refused(
    lake: SharedLake, table: LakeTable, ask: Any
) -> None:
    commit(table, 0, protocol(), partitioned(), of_country(add("a"), "DE"))
    commit(table, 1, metadata(**FEED), add("b"))
    commit(table, 2, partitioned(), of_country(add("c"), "DE"))
    response = ask(lake, table, schema="german", startingVersion=0)
    assert response.json()["errorCode"] == "UNSUPPORTED_OPERATION"
    assert ask(lake, table, schema="german", startingVersion=2).status_code == 200
