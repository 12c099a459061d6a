"""Requests of Iceberg clients to sign: what is signed is exactly a file that was named to them."""

from __future__ import annotations

import random
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import hypothesis.strategies as st
import pytest
from support.fuzz import fuzz_values as values
from support.fuzz.damaged_json import KINDS, written
from support.fuzz.fuzz_strategies import mutated
from support.fuzz.fuzzing import Fuzzer
from support.fuzz.iceberg_places import IcebergPlace
from support.gateways.in_process import Answer, Request

_BUCKET = "sluicegate"
_METHODS = ("GET",) * 6 + ("HEAD", "get", "PUT", "DELETE", "POST", "LIST", "", "GET ")
_QUERIES = ("",) * 6 + ("?", "?x-id=GetObject", "?x-id=HeadObject", "?list-type=2", "?versionId=1", "#")
_HEADERS: tuple[Any, ...] = (
    {"Range": ["bytes=0-"]},
    {"Range": ["bytes=0-"], "x-amz-checksum-mode": ["ENABLED"]},
    {"x-amz-checksum-mode": ["\r\nX-Injected: 1"], "x-amz-te": ["append-md5"]},
    {"x-amz-te": ["a", "b"], "X-AMZ-TE": ["trailers"], "\x00": ["\ud7ff"]},
    {"host": ["other.example"], "authorization": ["x" * 9_000]},
    {"a": "b"},
    {"a": [1]},
    [],
    None,
)
_ODD: tuple[Any, ...] = (
    *(None, True, 0, [], {}, [["a"]], {"a": []}, "s3", "azure", "file:///etc/passwd", "//"),
    *(*values.INTEGERS, *values.NAMES),
)


@pytest.fixture(scope="module")
def readable(iceberg_places: list[IcebergPlace]) -> list[IcebergPlace]:
    """The tables that have files."""
    return [place for place in iceberg_places if place.files]


def test_only_named_files_are_signed(fuzzer: Fuzzer, readable: list[IcebergPlace]) -> None:
    paths = [path for place in readable for path in place.files]

    def act(sent: tuple[str, IcebergPlace, int]) -> None:
        path, place, number = sent
        dice = random.Random(number)
        body = _body(place, path, dice)
        content = dice.choice(KINDS)(body, dice, _ODD) if dice.random() < 0.2 else written(body)
        answer = fuzzer.ask("POST", f"{place.path}/sign", (), content)
        assert answer.status in (200, 400, 403, 413)
        if answer.status == 200:
            _judge(fuzzer, answer)
        if content == written(body) and not _is_named(place, body):
            assert answer.status in (400, 403)

    changed = st.one_of(st.sampled_from(paths), mutated(paths))
    numbers = st.integers(0, 2**63)
    fuzzer.run("sign requests", st.tuples(changed, st.sampled_from(readable), numbers), act)


def test_files_named_to_other_recipients_are_not_signed(
    fuzzer: Fuzzer, rival: Fuzzer, readable: list[IcebergPlace]
) -> None:
    for place in readable:
        for path in place.files[:1]:
            body = written(_request(place, path))
            assert fuzzer.ask("POST", f"{place.path}/sign", (), body).status == 200
            assert rival.ask("POST", f"{place.path}/sign", (), body).status in (403, 404)


def test_links_to_generated_files(fuzzer: Fuzzer, readable: list[IcebergPlace]) -> None:
    links = [_link(fuzzer, place, path) for place in readable for path in _generated(place)]

    def act(sent: tuple[str, str, str]) -> None:
        method, link, wanted = sent
        answer = fuzzer.send(Request(method, link, [("range", wanted)]))
        assert answer.status in ((200, 206, 400, 404, 416) if link in links else (403, 404))

    link = st.one_of(st.sampled_from(links), mutated(links).map(_below_content))
    methods, ranges = st.sampled_from(("GET", "HEAD")), st.sampled_from(("", *values.RANGES))
    fuzzer.run("generated files", st.tuples(methods, link, ranges), act)


def _below_content(link: str) -> str:
    path = quote(link, safe="/?=&%~-_.+", errors="replace")
    return path if path.startswith("/content/") else f"/content/~iceberg/{path}"


def _request(place: IcebergPlace, path: str) -> dict[str, Any]:
    """A request as PyIceberg sends it."""
    uri = f"{place.endpoint}/{quote(path.removeprefix('s3://'), safe='/~')}"
    return {"region": "us-east-1", "uri": uri, "method": "GET", "headers": {"Range": ["bytes=0-"]}}


def _body(place: IcebergPlace, path: str, dice: random.Random) -> dict[str, Any]:
    """A request that another client might send, for a path that may be another one."""
    safe = dice.choice(("/~", "/~", "/~", "/~%=", "", "/~:?#[]@!$&'()*+,;=%"))
    key = quote(path.removeprefix("s3://"), safe=safe, errors="replace")
    start = dice.choice((place.endpoint,) * 9 + ("", "s3:/", "http://169.254.169.254", "file://"))
    made = _request(place, path) | {"uri": f"{start}/{key}{dice.choice(_QUERIES)}"}
    if dice.random() < 0.5:
        made |= {
            "method": dice.choice(_METHODS),
            "headers": dice.choice(_HEADERS),
            "provider": dice.choice(("s3", "s3", None, "gcs", 5)),
            "region": dice.choice(("us-east-1", "", "x" * 9_000, None)),
        }
    return made


def _is_named(place: IcebergPlace, body: dict[str, Any]) -> bool:
    """Whether a request is for a file that a plan of this table named."""
    address = body["uri"].partition("?")[0]
    start = f"{place.endpoint}/{_BUCKET}/"
    return (
        address.startswith(start) and f"s3://{_BUCKET}/{unquote(address[len(start) :])}" in place.files
    )


def _judge(fuzzer: Fuzzer, answer: Answer) -> None:
    """What was signed can be read, and no header of the request is sent elsewhere."""
    assert answer.json.keys() == {"uri", "headers"}
    assert answer.json["headers"] == {}
    url = urlsplit(answer.json["uri"])
    read = fuzzer.send(Request("HEAD", f"{url.path}?{url.query}"))
    assert read.status in (200, 400, 404)  # a golden table can lack files, or be no Iceberg table


def _generated(place: IcebergPlace) -> list[str]:
    return [path for path in place.files if "/~/" in path]


def _link(fuzzer: Fuzzer, place: IcebergPlace, path: str) -> str:
    answer = fuzzer.ask("POST", f"{place.path}/sign", (), written(_request(place, path)))
    url = urlsplit(answer.json["uri"])
    return f"{url.path}?{url.query}"
