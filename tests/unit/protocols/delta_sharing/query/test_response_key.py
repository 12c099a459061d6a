"""Keys of responses: all that determines the bytes, but no secret."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from support.gateways.memory_gateway import MemoryGateway, memory_gateway, shared_table
from support.gateways.memory_grants import ACME
from support.tables.memory_tables import MemoryFormat, file, snapshot

from sluicegate.api import TemporaryCredentials
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate.protocols.delta_sharing.encoding.ndjson import VersionStamp
from sluicegate.protocols.delta_sharing.negotiation import Agreement, parse
from sluicegate.protocols.delta_sharing.query.response_key import KeyMaker, ResponseKey
from sluicegate.protocols.delta_sharing.query.tokens import Continuation
from sluicegate.protocols.delta_sharing.request import QueryRequest, ResponseOptions, TimeTravel
from sluicegate.protocols.delta_sharing.view import View, Viewer

ALL = QueryRequest(TimeTravel())
SECRET = "wJalrXUtnFEMI"
CREDENTIALS = TemporaryCredentials("memory://lake/orders", "aws", {"secret_access_key": SECRET}, 5)
# Fields of requests that only the last line depends on, or that select the snapshot.
WITHOUT_EFFECT = {"page_token", "refresh_token", "include_refresh_token", "idempotency_key"}
OTHERS: dict[str, Any] = {
    "travel": TimeTravel(version=1),
    "limit": 1,
    "sql_hints": ("a = 1",),
    "json_hints": "{}",
    "max_files": 1,
    "page_token": "token",
    "include_refresh_token": True,
    "refresh_token": "token",
    "idempotency_key": "key",
}
OTHER_VIEWS: dict[str, Any] = {
    "needs": None,
    "agreement": Agreement("delta"),
    "offer": None,
    "at": VersionStamp(1, 2),
    "hash_name": "sha256",
}


@pytest.fixture
def gateway() -> MemoryGateway:
    return memory_gateway(format=MemoryFormat([snapshot(file("a.parquet"))]))


@pytest.fixture
async def view(gateway: MemoryGateway) -> View:
    viewer = Viewer(gateway.resolver, gateway.reader, DirectoryAccess(gateway.instances))
    form = ResponseOptions(parse(None))
    return await viewer.view(ACME, shared_table(), form, travel=TimeTravel())


def personal(maker: KeyMaker, view: View, request: QueryRequest = ALL) -> ResponseKey:
    keys = maker.keys(view, request, Continuation(), None)
    assert keys is not None
    return keys.personal


def of_table(view: View, **changes: Any) -> View:
    return replace(view, table=replace(view.table, **changes))


@pytest.mark.parametrize("name", [each.name for each in fields(QueryRequest)])
async def test_each_field_of_the_request_counts(view: View, name: str) -> None:
    maker = KeyMaker(share=False)
    other = personal(maker, view, replace(ALL, **{name: OTHERS[name]}))
    assert (other == personal(maker, view)) is (name in WITHOUT_EFFECT)


@pytest.mark.parametrize("name", [each.name for each in fields(View)])
async def test_each_field_of_the_view_counts(view: View, name: str) -> None:
    if name in ("table", "snapshot", "files"):
        return  # the other tests are about these
    maker = KeyMaker(share=False)
    assert personal(maker, replace(view, **{name: OTHER_VIEWS[name]})) != personal(maker, view)


async def test_the_table_counts(view: View) -> None:
    maker, table = KeyMaker(share=False), view.table
    keys = {
        personal(maker, each)
        for each in (
            view,
            replace(view, snapshot=replace(view.snapshot, version=1)),
            of_table(view, principal=replace(ACME, id="r9")),
            of_table(view, principal=replace(ACME, properties={"day": "1"})),
            of_table(view, shared=replace(table.shared, start_version=1)),
            of_table(view, source=replace(table.source, auxiliary_locations=("memory://lake/x",))),
            of_table(view, source=replace(table.source, ref="audit")),
            of_table(view, storage=object()),
            of_table(view, credentials=CREDENTIALS),
            of_table(view, credentials=replace(CREDENTIALS, expires_at=6)),
            of_table(view, credentials=replace(CREDENTIALS, secret={"secret_access_key": "other"})),
            of_table(view, credentials=replace(CREDENTIALS, connection={"region": "eu"})),
        )
    }
    assert len(keys) == 12


async def test_where_the_page_starts_counts_but_not_the_token_that_says_it(view: View) -> None:
    maker = KeyMaker(share=False)
    starts = (Continuation(0, "a", 5), Continuation(0, "b", 5), Continuation(0, "a", 4))
    found = {maker.keys(view, replace(ALL, page_token=str(each)), each, None) for each in starts}
    again = maker.keys(view, replace(ALL, page_token="another"), Continuation(0, "a", 5), None)
    assert len(found) == 3
    assert again in found


async def test_no_secret_is_in_the_key(view: View) -> None:
    maker = KeyMaker(share=False)
    key = personal(maker, of_table(view, credentials=CREDENTIALS))
    assert SECRET not in repr(key)
    assert SECRET not in repr(maker)


async def test_digests_of_credentials_differ_between_processes(view: View) -> None:
    signed = of_table(view, credentials=CREDENTIALS)
    first, second = [personal(KeyMaker(share=False), signed) for _ in range(2)]
    assert first.signed_by != second.signed_by


async def test_only_the_storages_own_signatures_are_shared(view: View) -> None:
    for share, credentials, shared in (
        (False, None, False),
        (True, None, True),
        (True, CREDENTIALS, False),
    ):
        given = of_table(view, credentials=credentials)
        keys = KeyMaker(share).keys(given, ALL, Continuation(), None)
        assert keys is not None
        assert (keys.shared is not None) is shared


async def test_the_shared_key_names_no_recipient(view: View) -> None:
    maker = KeyMaker(share=True)
    rival = of_table(view, principal=replace(ACME, id="r9", name="rival"))
    found = [maker.keys(each, ALL, Continuation(), None) for each in (view, rival)]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].shared == found[1].shared
    assert found[0].personal != found[1].personal


async def test_what_a_plugin_made_incomparable_is_not_cached(view: View) -> None:
    wrong: Any = ["a list"]
    source = replace(view.table.source, auxiliary_locations=wrong)
    assert KeyMaker(share=False).keys(of_table(view, source=source), ALL, Continuation(), None) is None
