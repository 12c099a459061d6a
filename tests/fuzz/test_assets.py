"""Volumes, models and skills: any name, page, body and token, and credentials for what is shared."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import hypothesis.strategies as st
import pytest
from support.clients.described import paths_below
from support.fuzz import fuzz_values as values
from support.fuzz.fuzz_strategies import HeaderPair, any_headers, bodies, mutated, names, queries
from support.fuzz.fuzzing import Fuzzer
from support.gateways.in_process import Answer

from sluicegate.api import CredentialVendor
from sluicegate.vending.issue import Vendors
from sluicegate_testing.fakes import MemoryVendor

_KINDS = ("volume", "model", "skill")
_METHODS = (None,) * 9 + ("GET", "POST", "HEAD", "PUT", "DELETE")
_PATHS = {
    path: item
    for path, item in paths_below("/delta-sharing").items()
    if any(f"{kind}s" in path for kind in _KINDS)
}
_Sent = tuple[str | None, tuple[str, str], dict[str, str], dict[str, str], str, list[HeaderPair], bytes]


@pytest.fixture(scope="module", autouse=True)
def vending() -> Iterator[None]:
    """Credentials for the directories of assets, which a folder of files does not have."""
    vendor = MemoryVendor()

    def of_storage(_: Vendors, location: str) -> CredentialVendor | None:
        return vendor if location.startswith("file://") else None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Vendors, "_storage_vendor", of_storage)
        yield


@pytest.fixture(scope="module")
def page_tokens(fuzzer: Fuzzer) -> list[str]:
    """Tokens of listings of each kind."""
    listings = [f"/delta-sharing/shares/sales/all-{kind}s" for kind in _KINDS]
    listings += [f"/delta-sharing/shares/sales/schemas/EU/{kind}s" for kind in _KINDS]
    answers = [fuzzer.ask("GET", f"{listing}?maxResults=0").json for listing in listings]
    return [answer["nextPageToken"] for answer in answers]


def test_assets(fuzzer: Fuzzer, asset_places: list[dict[str, str]], page_tokens: list[str]) -> None:
    operations = [(method.upper(), path) for path in sorted(_PATHS) for method in _methods(path)]
    page = mutated(page_tokens).map(lambda token: f"?pageToken={quote(token)}&maxResults=1")
    sent = st.tuples(
        st.sampled_from(_METHODS),
        st.sampled_from(operations),
        st.sampled_from(asset_places),
        st.dictionaries(st.sampled_from(sorted(asset_places[0])), _odd_names(), max_size=2),
        st.one_of(st.just(""), st.just(""), queries(), page),
        any_headers(),
        st.one_of(st.just(b""), st.just(b"{}"), bodies()),
    )

    def act(each: _Sent) -> None:
        other, (method, path), place, odd, query, headers, body = each
        named = {name: quote(value, safe="") for name, value in place.items()} | odd
        target = f"/delta-sharing{path.format(**named)}{query}"
        kept = [header for header in headers if header[0] not in ("authorization", "host")]
        answer = fuzzer.ask(other or method, target, kept, body)
        if answer.status == 200 and answer.body:
            _judge(path, answer)

    fuzzer.run("assets", sent, act)


@pytest.mark.parametrize("path", sorted(_PATHS))
def test_each_path_of_a_real_asset_is_answered(
    fuzzer: Fuzzer, asset_places: list[dict[str, str]], path: str
) -> None:
    [method] = _methods(path)
    answer = fuzzer.ask(method.upper(), f"/delta-sharing{path.format(**asset_places[0])}")
    assert answer.status == 200
    _judge(path, answer)


def _methods(path: str) -> list[str]:
    return [method for method in _PATHS[path] if method in ("get", "post")]


def _odd_names() -> st.SearchStrategy[str]:
    numerals = st.sampled_from([quote(text, safe="") for text in values.NUMERALS])
    return st.one_of(names(), names(), numerals)


def _judge(path: str, answer: Answer) -> None:
    if "temporary-" in path:
        assert answer.headers["cache-control"] == "private, no-store"
        assert answer.json["credentials"]["location"].startswith("file://")
    else:
        assert "credentials" not in answer.json
