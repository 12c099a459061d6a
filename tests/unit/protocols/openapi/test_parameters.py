"""Parameters are described as the gateway reads them."""

from __future__ import annotations

import pytest
from support.clients.described import fitting, operations, parameter, paths_below

from sluicegate.api import InvalidRequest, Principal
from sluicegate.protocols.common.pagination import PageRequest
from sluicegate.protocols.delta_sharing import negotiation
from sluicegate.protocols.delta_sharing.changes.request import ChangesRequest
from sluicegate.protocols.delta_sharing.paths import PREFIX, TABLE
from sluicegate.protocols.delta_sharing.request import FILE_ID_HASH, ResponseOptions, TimeTravel

ACME = Principal("r1", "acme", "bearer")
PATHS = paths_below(PREFIX)
CHANGES = PATHS[f"{TABLE}/changes"]["get"]
METADATA = PATHS[f"{TABLE}/metadata"]["get"]


def names(place: str, described: dict[str, list[dict[str, str]]]) -> list[str]:
    return [each["name"] for each in described["parameters"] if each["in"] == place]


def test_parameters_of_a_path_are_required_and_others_are_not() -> None:
    of_path = [each for item in PATHS.values() for each in item.get("parameters", ())]
    assert {(each["in"], each["required"]) for each in of_path} == {("path", True)}
    others = [each for one in operations(PATHS).values() for each in one.get("parameters", ())]
    assert {(each["in"], each["required"]) for each in others} == {("query", False), ("header", False)}


@pytest.mark.parametrize("size", [-1, 0, 500, 501])
def test_the_described_page_sizes_are_those_that_are_accepted(size: int) -> None:
    described = fitting(parameter(PATHS["/shares"]["get"], "maxResults"))
    try:
        PageRequest.parse({"maxResults": str(size)}, ACME, "shares")
    except InvalidRequest:
        assert not described.is_valid(size)
    else:
        assert described.is_valid(size)


@pytest.mark.parametrize("name", names("query", CHANGES))
def test_every_parameter_of_a_change_feed_is_read(name: str) -> None:
    start = {} if name.startswith("starting") else {"startingVersion": "0"}
    wrong = "" if name == "pageToken" else "wrong"
    with pytest.raises(InvalidRequest, match=f"^{name} "):
        ChangesRequest.of_feed({**start, name: wrong})


@pytest.mark.parametrize("name", names("query", METADATA))
def test_every_parameter_of_time_travel_is_read(name: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^{name} "):
        TimeTravel.parse({name: "wrong"})


def test_the_start_of_versions_is_a_time() -> None:
    schema = parameter(PATHS[f"{TABLE}/version"]["get"], "startingTimestamp")
    assert fitting(schema).is_valid("2022-01-01T00:00:00Z")
    assert not fitting(schema).is_valid("2022")


def test_headers_are_those_that_are_read() -> None:
    assert names("header", CHANGES) == names("header", METADATA) == [negotiation.HEADER, FILE_ID_HASH]


@pytest.mark.parametrize("value", ["parquet", "delta", "md5", ""])
def test_the_described_hashes_are_those_that_are_accepted(value: str) -> None:
    described = fitting(parameter(METADATA, FILE_ID_HASH))
    try:
        ResponseOptions.parse({FILE_ID_HASH: value})
    except InvalidRequest:
        assert not described.is_valid(value)
    else:
        assert described.is_valid(value)


def test_the_example_of_capabilities_is_understood() -> None:
    [example] = parameter(METADATA, negotiation.HEADER)["examples"]
    parsed = negotiation.parse(example)
    assert parsed.response_formats == ("delta", "parquet")
    assert parsed.reader_features == {"deletionvectors", "columnmapping"}
