"""Pages of change feeds and streams: put together they are the answer in one piece."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from protocols.delta_sharing.changes.logs import FEED, cdc, commit, full_remove, write_changing_table
from support.clients.change_answers import ChangeAnswer, Said, feed, short, stream
from support.gateways.shared_lake import LakeTable, SharedLake
from support.process.random_cases import cases
from support.tables.deltalog import Action, add, metadata, protocol, vector

WAYS = {"feed": feed, "stream": stream}
VECTORS = protocol(3, "deletionVectors")


def pages(
    lake: SharedLake, table: LakeTable, way: str, max_files: int, **asked: Any
) -> list[ChangeAnswer]:
    """All pages of an answer."""
    found: list[ChangeAnswer] = []
    token: dict[str, Any] = {}
    while not found or token:
        answer = ChangeAnswer.of(WAYS[way](lake, table, maxFiles=max_files, **asked, **token))
        assert answer.end is not None
        found.append(answer)
        token = {"pageToken": answer.token} if answer.token else {}
    return found


def joined(found: list[ChangeAnswer]) -> list[Said]:
    """The lines of pages as one answer."""
    return [*found[0].said[:2], *(line for page in found for line in page.said[2:])]


@pytest.fixture(scope="module")
def changing(lake: SharedLake) -> LakeTable:
    table = lake.table()
    write_changing_table(table)
    return table


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", ["parquet", "delta"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 1000])
def test_pages_are_the_whole_answer(
    lake: SharedLake, changing: LakeTable, way: str, form: str, size: int
) -> None:
    asked: dict[str, Any] = {"startingVersion": 0, "form": form}
    whole = ChangeAnswer.of(WAYS[way](lake, changing, **asked))
    found = pages(lake, changing, way, size, **asked)
    assert joined(found) == whole.said
    assert {page.head for page in found} == {whole.head}
    assert {page.headers["delta-table-version"] for page in found} == {"0"}
    assert [len(page.changed) for page in found[:-1]] == [size] * (len(found) - 1)
    assert 1 <= len(found[-1].changed) <= size
    for page in found:
        assert page.end is not None
        assert page.end["minUrlExpirationTimestamp"] == min(map(expiry, page.lines[2:]))


def expiry(line: dict[str, Any]) -> int:
    (value,) = line.values()
    expires: int = value["expirationTimestamp"]
    return expires


@pytest.mark.parametrize("way", WAYS)
def test_pages_stay_in_the_range_while_the_table_moves_on(
    lake: SharedLake, table: LakeTable, way: str
) -> None:
    write_changing_table(table)
    whole = ChangeAnswer.of(WAYS[way](lake, table, startingVersion=1))
    first = ChangeAnswer.of(WAYS[way](lake, table, startingVersion=1, maxFiles=2))
    commit(table, 6, metadata(**FEED, comment="new"), add("g"))
    commit(table, 7, add("h"))
    rest = ChangeAnswer.of(WAYS[way](lake, table, startingVersion=1, pageToken=first.token))
    assert rest.head == first.head == whole.head
    assert joined([first, rest]) == whole.said
    assert rest.end is not None
    assert "nextPageToken" not in rest.end


def test_historical_lines_are_returned_once(lake: SharedLake, table: LakeTable) -> None:
    commit(table, 0, protocol(), metadata(**FEED), add("a"), add("b"))
    commit(table, 1, metadata(**FEED, comment="1"), add("c"), add("d"))
    commit(table, 2, metadata(**FEED, comment="2"))
    asked: dict[str, Any] = {"startingVersion": 0, "includeHistoricalMetadata": "true"}
    whole = ChangeAnswer.of(feed(lake, table, **asked))
    for size in (1, 2, 3, 4):
        assert joined(pages(lake, table, "feed", size, **asked)) == whole.said


@pytest.mark.parametrize(
    "changed",
    [
        {"startingVersion": 1},
        {"endingVersion": 4},
        {"includeHistoricalMetadata": "true"},
        {"includeHistoricalProtocol": "true"},
        {"schema": "recent", "startingVersion": 2},
        {"recipient": "rival"},
    ],
    ids=str,
)
def test_a_token_belongs_to_its_request(
    lake: SharedLake, changing: LakeTable, changed: dict[str, Any]
) -> None:
    asked: dict[str, Any] = {"startingVersion": 0, "maxFiles": 1}
    token = ChangeAnswer.of(feed(lake, changing, **asked)).token
    response = feed(lake, changing, **(asked | changed), pageToken=token)
    assert response.status_code == 400
    assert "pageToken" in response.json()["message"]


def test_a_token_belongs_to_its_way(lake: SharedLake, changing: LakeTable) -> None:
    token = ChangeAnswer.of(feed(lake, changing, startingVersion=0, maxFiles=1)).token
    assert stream(lake, changing, startingVersion=0, pageToken=token).status_code == 400
    other = ChangeAnswer.of(stream(lake, changing, startingVersion=0, maxFiles=1)).token
    assert feed(lake, changing, startingVersion=0, pageToken=other).status_code == 400
    assert lake.client().post(f"{changing.path()}/query", json={"pageToken": other}).status_code == 400


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_actions_on_one_path_are_never_torn_apart(
    lake: SharedLake, table: LakeTable, size: int
) -> None:
    commit(table, 0, VECTORS, metadata(**FEED), *(add(name) for name in "abcd"))
    removed = [full_remove(name) for name in "abcd"]
    added = [add(name, deletionVector=vector("ab^-aqEH.-t@S}K{vb[*k^")) for name in "dcba"]
    commit(table, 1, *removed, *added)
    found = pages(lake, table, "feed", size, form="delta", startingVersion=1)
    for page in found:
        paths = [line[2] for line in page.changed]
        assert all(paths.count(path) == 2 for path in paths)
        urls = [line["file"]["deltaSingleAction"] for line in page.lines[2:]]
        assert len({action["path"] for each in urls for action in each.values()}) == len(paths) / 2
    assert sorted(line for page in found for line in page.changed) == sorted(
        (kind, 1, name) for name in "abcd" for kind in ("add", "remove")
    )


FILES = st.lists(st.sampled_from("abcdefgh"), max_size=6, unique=True)


@st.composite
def commits(draw: st.DrawFn) -> list[Action]:
    """One commit of any kind."""
    actions = [add(name) for name in draw(FILES)] + [full_remove(name) for name in draw(FILES)]
    if draw(st.booleans()):
        actions += [cdc(f"_change_data/{name}") for name in draw(FILES)]
    if draw(st.integers(0, 4)) == 0:
        actions.append(metadata(**FEED, comment=draw(st.sampled_from("xyz"))))
    return draw(st.permutations(actions))


@settings(
    max_examples=cases(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    history=st.lists(commits(), min_size=1, max_size=6),
    way=st.sampled_from(sorted(WAYS)),
    form=st.sampled_from(["parquet", "delta"]),
    start=st.integers(0, 6),
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=40),
)
def test_pages_of_any_sizes_are_the_whole_answer(
    lake: SharedLake, history: list[list[Action]], way: str, form: str, start: int, sizes: list[int]
) -> None:
    table = lake.table()
    commit(table, 0, protocol(), metadata(**FEED), add("a"))
    for version, actions in enumerate(history, 1):
        commit(table, version, *actions)
    asked: dict[str, Any] = {"startingVersion": min(start, len(history)), "form": form}
    if way == "feed":
        asked["includeHistoricalMetadata"] = "true"
    whole = ChangeAnswer.of(WAYS[way](lake, table, **asked))
    lines = whole.said[:2]
    for size in [*sizes, 1000]:
        answer = ChangeAnswer.of(WAYS[way](lake, table, maxFiles=size, **asked))
        assert answer.head == whole.head
        lines += [short(line) for line in answer.lines[2:]]
        if answer.token is None:
            break
        asked["pageToken"] = answer.token
    assert lines == whole.said
