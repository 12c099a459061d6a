import pytest

from sluicegate.api.errors import InvalidRequest, MalformedRequest
from sluicegate.protocols.common import parameters


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, None), (0, 0), ("0", 0), ("500", 500), (500, 500), ("007", 7)],
)
def test_whole_numbers(value: object, expected: int | None) -> None:
    assert parameters.integer("maxResults", value, high=500) == expected


@pytest.mark.parametrize(
    "value", ["", "-1", -1, 501, "501", "1.5", 1.5, True, "ten", [1], {}, "1e3", "٣", "9" * 30, "--1"]
)
def test_no_whole_numbers(value: object) -> None:
    with pytest.raises(InvalidRequest, match="maxResults must be"):
        parameters.integer("maxResults", value, high=500)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1970-01-01T00:00:01Z", 1000),
        ("1970-01-01T00:00:01.5Z", 1500),
        ("1970-01-01T02:00:01+02:00", 1000),
        ("1970-01-01T02:00:01 02:00", 1000),
        ("1970-01-01 00:00:01+00:00", 1000),
        ("1969-12-31T23:59:59Z", -1000),
        ("1969-12-31T23:59:59.9995Z", -1),
        ("2004-02-23T07:45:54.751Z", 1077522354751),
        ("2038-06-10T17:22:03.936Z", 2159803323936),
        (None, None),
    ],
)
def test_timestamps(value: object, expected: int | None) -> None:
    assert parameters.timestamp("timestamp", value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (0, 0),
        ("7", 7),
        (500, 500),
        (501, 500),
        (2**70, 500),
        (1e30, 500),
        ("9" * 20, 500),
        (-1, None),
        ("-1", None),
    ],
)
def test_hints_are_capped_and_never_refused(value: object, expected: int | None) -> None:
    assert parameters.hinted("limitHint", value, high=500) == expected


@pytest.mark.parametrize("value", ["", "ten", 1.5, float("nan"), float("inf"), True, [1], {}])
def test_no_hints(value: object) -> None:
    with pytest.raises(InvalidRequest, match="limitHint must be a whole number"):
        parameters.hinted("limitHint", value, high=500)


def test_an_empty_text_is_refused() -> None:
    assert parameters.text("pageToken", None) is None
    assert parameters.text("pageToken", "t") == "t"
    for read in (parameters.text, parameters.timestamp):
        with pytest.raises(InvalidRequest, match="pageToken is empty"):
            read("pageToken", "")


@pytest.mark.parametrize(
    "value",
    [
        "yesterday",
        "2022-01-01",
        "2022-01-01T00:00:00",
        "2022-13-01T00:00:00Z",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-12:00",
        5,
    ],
)
def test_no_timestamps(value: object) -> None:
    with pytest.raises(InvalidRequest, match="timestamp must be"):
        parameters.timestamp("timestamp", value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, False), (True, True), (False, False), ("True", True), ("false", False), ("TRUE", True)],
)
def test_booleans_as_clients_send_them(value: object, expected: bool) -> None:
    assert parameters.boolean("includeHistoricalMetadata", value) is expected


@pytest.mark.parametrize("value", ["yes", 1, "", []])
def test_no_booleans(value: object) -> None:
    with pytest.raises(InvalidRequest, match="must be true or false"):
        parameters.boolean("includeHistoricalMetadata", value)


def test_parameters_that_exclude_each_other_are_named() -> None:
    parameters.at_most_one({"version": 1, "timestamp": None})
    with pytest.raises(InvalidRequest, match="not version and timestamp"):
        parameters.at_most_one({"version": 1, "timestamp": "x", "startingVersion": None})


@pytest.mark.parametrize(
    ("body", "expected"), [(b"", {}), (b"  \n", {}), (b"{}", {}), (b'{"a": 1}', {"a": 1})]
)
def test_bodies(body: bytes, expected: dict[str, object]) -> None:
    assert parameters.json_object(body) == expected


@pytest.mark.parametrize("body", [b"{", b"[]", b"null", b'"x"', b"\xff", b"{'a': 1}", b"1"])
def test_malformed_bodies(body: bytes) -> None:
    with pytest.raises(MalformedRequest):
        parameters.json_object(body)
