"""Whatever a client sends to be signed, it gets a file of its view, or an error that is its own."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.gateways.memory_gateway import (
    KEYS,
    PUBLIC_URL,
    MemoryGateway,
    memory_gateway,
    shared_table,
)
from support.gateways.memory_instances import LAKE, url_of
from support.process.clock import Clock

from sluicegate.api import InvalidRequest, PermissionDenied
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.iceberg_rest.file_access.file_paths import FilePaths
from sluicegate.protocols.iceberg_rest.file_access.generated_links import GeneratedLinks
from sluicegate.protocols.iceberg_rest.file_access.sign import RequestSigner
from sluicegate.protocols.iceberg_rest.file_access.sign_request import store_endpoint

NOW = 1_800_000_000
ENDPOINT = store_endpoint(PUBLIC_URL)
FILE = "date=2024-01-01/part 0.parquet"
FIELDS = ["region", "uri", "method", "headers", "provider"]
EXAMPLES = settings(max_examples=200, deadline=None)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=20), inner, max_size=3)
    ),
    max_leaves=5,
)
pieces = st.sampled_from(
    ["..", ".", "/", "//", "%2F", "%252F", "%", "%25", "?", "#", "&", "\\", "@", ":", "~", "\0", "é"]
) | st.text(max_size=3)


@dataclass
class Opened:
    """A table, and the address of one of its files."""

    gateway: MemoryGateway
    table: OpenTable
    signer: RequestSigner
    uri: str

    def check(self, changed: dict[str, Any]) -> None:
        """Send a request with changed fields: the file is signed, or nothing is."""
        body = {"region": "r", "uri": self.uri, "method": "GET", "headers": {}, **changed}
        self.gateway.storage.signed.clear()
        try:
            signed = asyncio.run(self.signer.sign(self.table, body))
        except (InvalidRequest, PermissionDenied):
            assert self.gateway.storage.signed == []
            return
        assert signed.uri == url_of(f"{LAKE}/orders/{FILE}")


@pytest.fixture(scope="module")
def opened() -> Opened:
    gateway = memory_gateway()
    table = asyncio.run(gateway.open(shared_table()))
    paths = FilePaths(KEYS, 3600, Clock(NOW))
    links = GeneratedLinks(KEYS, PUBLIC_URL, 3600)
    signer = RequestSigner(paths, gateway.signer, links, ENDPOINT, Clock(NOW))
    (path,) = paths.of_view(table.principal, table.shared, table.source, 5).of([FILE])
    uri = f"{ENDPOINT}/{path.removeprefix('s3://').replace('%', '%25')}"
    return Opened(gateway, table, signer, uri)


def test_the_request_that_is_changed_is_signed(opened: Opened) -> None:
    opened.check({})
    assert len(opened.gateway.storage.signed) == 1


@given(st.dictionaries(st.sampled_from(FIELDS), json_values))
@EXAMPLES
def test_bodies_with_any_values(opened: Opened, changed: dict[str, Any]) -> None:
    opened.check(changed)


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3), pieces), min_size=1, max_size=4))
@EXAMPLES
def test_changed_addresses(opened: Opened, edits: list[tuple[float, int, str]]) -> None:
    uri = opened.uri
    for place, removed, inserted in edits:
        at = int(place * len(uri))
        uri = uri[:at] + inserted + uri[at + removed :]
    opened.check({"uri": uri})


@given(st.dictionaries(st.text(max_size=24), st.lists(st.text(max_size=24), max_size=2), max_size=4))
@EXAMPLES
def test_any_headers(opened: Opened, headers: dict[str, list[str]]) -> None:
    opened.check({"method": "HEAD", "headers": headers})


@given(st.text(max_size=12))
@EXAMPLES
def test_any_method(opened: Opened, method: str) -> None:
    opened.check({"method": method})
