"""Links to files: changed ones are refused, and any range or condition on a real one is answered."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import hypothesis.strategies as st
import pytest
from support.fuzz import fuzz_values as values
from support.fuzz.fuzz_strategies import HEADER_TEXT, HeaderPair, mutated
from support.fuzz.fuzzing import Fuzzer
from support.gateways.in_process import Request

QUERY = "/delta-sharing/shares/sales/schemas/eu/tables/orders/query"


@pytest.fixture(scope="module")
def links(fuzzer: Fuzzer) -> list[str]:
    """Paths and query strings of a table's files."""
    lines = fuzzer.ask("POST", QUERY, (), b"{}").lines
    urls = [urlsplit(line["file"]["url"]) for line in lines if "file" in line]
    return [f"{url.path}?{url.query}" for url in urls]


def test_changed_links_are_refused(fuzzer: Fuzzer, links: list[str]) -> None:
    def act(sent: tuple[str, str]) -> None:
        method, link = sent
        answer = fuzzer.send(Request(method, link))
        assert answer.status in ((200,) if link in links else (403, 404))

    fuzzer.run("links", st.tuples(st.sampled_from(("GET", "HEAD")), _changed(links)), act)


def _changed(links: list[str]) -> st.SearchStrategy[str]:
    visible = mutated(links).map(lambda link: re.sub("[^!-~]", "_", link))
    return visible.map(lambda link: link if link.startswith("/content/") else f"/content/{link}")


def test_ranges_and_conditions(fuzzer: Fuzzer, links: list[str]) -> None:
    etag = fuzzer.send(Request("HEAD", links[0])).headers["etag"]
    tags = st.sampled_from((*values.TAGS, etag))
    dates = st.one_of(st.sampled_from(values.DATES), st.datetimes().map(_http_date))
    header = st.one_of(
        st.tuples(st.just("range"), st.one_of(st.sampled_from(values.RANGES), _ranges())),
        st.tuples(st.sampled_from(("if-match", "if-none-match", "if-range")), tags),
        st.tuples(st.sampled_from(("if-modified-since", "if-unmodified-since", "if-range")), dates),
        st.tuples(st.sampled_from(("range", "if-match", "if-modified-since")), HEADER_TEXT),
    )

    def act(sent: tuple[str, str, list[HeaderPair]]) -> None:
        method, link, headers = sent
        answer = fuzzer.send(Request(method, link, headers))
        assert answer.status in (200, 206, 304, 412, 416)

    methods = st.sampled_from(("GET", "GET", "HEAD"))
    given = st.lists(header, min_size=1, max_size=3)
    fuzzer.run("conditions", st.tuples(methods, st.sampled_from(links), given), act)


def _ranges() -> st.SearchStrategy[str]:
    number = st.integers(0, 2_000)
    return st.tuples(number, number).map(lambda pair: f"bytes={pair[0]}-{pair[1]}")


def _http_date(moment: object) -> str:
    return f"{moment:%a, %d %b %Y %H:%M:%S GMT}"
