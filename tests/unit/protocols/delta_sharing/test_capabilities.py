import pytest

from sluicegate.protocols.delta_sharing.capabilities import Capabilities, encode, parse


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, Capabilities()),
        ("", Capabilities()),
        ("responseformat=delta", Capabilities(("delta",))),
        ("ResponseFormat=Delta,PARQUET", Capabilities(("delta", "parquet"))),
        (
            "responseformat=delta;readerfeatures=deletionVectors, columnmapping",
            Capabilities(("delta",), frozenset({"deletionvectors", "columnmapping"})),
        ),
        ("includeEndStreamAction=True", Capabilities(end_stream_action=True)),
        ("asyncquery=true;unknown=1", Capabilities(async_query=True)),
        ("accessMode=url,dir", Capabilities(access_modes=("url", "dir"))),
        ("nonsense;;=;responseformat", Capabilities()),
        ("responseformat=", Capabilities()),
    ],
)
def test_header_is_read_without_case_and_unknown_parts_are_ignored(
    header: str | None, expected: Capabilities
) -> None:
    assert parse(header) == expected


def test_answer_is_spelled_in_lower_case() -> None:
    answer = {"responseformat": "Delta", "includeEndStreamAction": "true"}
    assert encode(answer) == "responseformat=delta;includeendstreamaction=true"
