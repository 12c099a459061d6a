from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import pytest
from starlette.types import Message, Receive, Scope, Send

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.api.models import AccessMode
from sluicegate.protocols.delta_sharing.negotiation import (
    Agreement,
    Capabilities,
    PluginCapabilities,
    encode,
    negotiate,
    parse,
)
from sluicegate.tables.features import FeatureNeeds

PLAIN = FeatureNeeds((), (), ())
VECTORS = FeatureNeeds(("deletionVectors", "v2Checkpoint"), ("deletionVectors",), ("deletionVectors",))
UNUSED_VECTORS = FeatureNeeds(("deletionVectors", "v2Checkpoint"), (), ())
MAPPED_PLAINLY = FeatureNeeds(("columnMapping",), ("columnMapping",), ())
UNKNOWN = FeatureNeeds(("warpDrive",), ("warpDrive",), ("warpDrive",))


@pytest.mark.parametrize(
    ("header", "needs", "expected"),
    [
        (None, PLAIN, Agreement("parquet")),
        ("responseformat=parquet", PLAIN, Agreement("parquet")),
        ("responseformat=delta,parquet", PLAIN, Agreement("parquet")),
        ("responseformat=delta", PLAIN, Agreement("delta")),
        ("responseformat=delta,iceberg", PLAIN, Agreement("delta")),
        (None, UNUSED_VECTORS, Agreement("parquet")),
        ("responseformat=delta", UNUSED_VECTORS, Agreement("delta")),
        (
            "responseformat=delta,parquet;readerfeatures=deletionvectors",
            VECTORS,
            Agreement("delta", ("deletionVectors",)),
        ),
        (
            "responseformat=delta;readerfeatures=deletionvectors,v2checkpoint",
            VECTORS,
            Agreement("delta", ("deletionVectors", "v2Checkpoint")),
        ),
        (None, MAPPED_PLAINLY, Agreement("parquet")),
        (
            "responseformat=delta;readerfeatures=columnmapping",
            MAPPED_PLAINLY,
            Agreement("delta", ("columnMapping",)),
        ),
        (
            "includeendstreamaction=true",
            PLAIN,
            Agreement("parquet", end_stream_action=True),
        ),
    ],
)
def test_agreement(header: str | None, needs: FeatureNeeds, expected: Agreement) -> None:
    assert negotiate(parse(header), needs) == expected


@pytest.mark.parametrize(
    ("header", "needs", "named"),
    [
        (None, VECTORS, "responseformat=delta;readerfeatures=deletionvectors"),
        (None, VECTORS, r"\(in Spark: \.option\(\"responseFormat\", \"delta\"\)\)"),
        ("responseformat=parquet", VECTORS, "uses deletionVectors"),
        ("responseformat=delta", VECTORS, "needs the reader feature deletionVectors"),
        ("responseformat=delta", MAPPED_PLAINLY, "readerfeatures=columnmapping"),
        ("responseformat=delta,parquet;readerfeatures=columnmapping", VECTORS, "deletionVectors"),
        ("responseformat=delta;readerfeatures=deletionvectors", UNKNOWN, "warpDrive"),
        ("responseformat=orc", PLAIN, "responseformat=orc is not supported"),
    ],
)
def test_refusal_names_what_is_missing(header: str | None, needs: FeatureNeeds, named: str) -> None:
    with pytest.raises(UnsupportedOperation, match=named):
        negotiate(parse(header), needs)


def test_a_table_without_url_access_refuses_queries() -> None:
    with pytest.raises(UnsupportedOperation, match="temporary credentials"):
        negotiate(parse(None), PLAIN, offered=["dir"])


def test_the_end_stream_action_is_announced_only_when_it_will_come() -> None:
    assert negotiate(parse(None), PLAIN).header() == {"responseformat": "parquet"}
    negotiated = negotiate(parse("includeendstreamaction=true"), PLAIN)
    assert negotiated.header() == {"responseformat": "parquet", "includeendstreamaction": "true"}


def outcome(client: str | None, server: str | None) -> str:
    """What comes of a client that names modes and a table that is served by some.

    A server that does not know the capability responds as this one where it counts for nothing. A
    client that sends none gets the metadata with the modes, and is refused when it requests URLs.
    """
    requested = parse(client and f"accessmode={client}")
    offered = [mode for mode in get_args(AccessMode) if mode in (server or "url").split(",")]
    try:
        response = negotiate(requested, PLAIN, offered=offered, metadata=server is not None).header()
        able = (client or "url").split(",")
        usable = [mode for mode in response.get("accessmode", "url").split(",") if mode in able]
        if usable == ["url"]:
            negotiate(requested, PLAIN, offered=offered)
    except UnsupportedOperation:
        return "server refuses"
    return " or ".join(usable) or "client gives up"


@pytest.mark.parametrize(
    ("client", "server", "expected"),
    [
        (None, None, "url"),
        (None, "url", "url"),
        (None, "dir", "server refuses"),
        (None, "url,dir", "url"),
        ("url", None, "url"),
        ("url", "url", "url"),
        ("url", "dir", "server refuses"),
        ("url", "url,dir", "url"),
        ("dir", None, "client gives up"),
        ("dir", "url", "client gives up"),
        ("dir", "dir", "dir"),
        ("dir", "url,dir", "dir"),
        ("url,dir", None, "url"),
        ("url,dir", "url", "url"),
        ("url,dir", "dir", "dir"),
        ("url,dir", "url,dir", "url or dir"),
    ],
)
def test_access_modes_are_agreed_as_the_proposals_table_says(
    client: str | None, server: str | None, expected: str
) -> None:
    assert outcome(client, server) == expected


@pytest.mark.parametrize(
    ("header", "offered", "named"),
    [
        ("accessmode=url", ["dir"], "accessmode=dir"),
        (
            "accessmode=ftp",
            ["url", "dir"],
            "accessmode=ftp is not supported: request url, dir or both",
        ),
        (None, [], "ask the provider"),
        ("accessmode=dir", [], "ask the provider"),
    ],
)
def test_refused_access_modes_name_what_to_ask_for(
    header: str | None, offered: list[AccessMode], named: str
) -> None:
    with pytest.raises(UnsupportedOperation, match=named):
        negotiate(parse(header), PLAIN, offered=offered, metadata=True)


def test_unknown_modes_beside_known_ones_are_ignored() -> None:
    agreement = negotiate(parse("accessmode=ftp,dir"), PLAIN, offered=["url", "dir"], metadata=True)
    assert agreement.access_modes == ("dir",)


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


NAME = b"delta-sharing-capabilities"
BODY: Message = {"type": "http.response.body", "body": b"lines", "more_body": False}


async def sent(added: Mapping[str, str], *headers: tuple[bytes, bytes]) -> list[Message]:
    """What leaves the middleware around an application that responds with these headers."""
    messages: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": list(headers)})
        await send(dict(BODY))

    async def receive() -> Message:
        raise AssertionError("nothing is received")

    async def send(message: Message) -> None:
        messages.append(message)

    await PluginCapabilities(app, added)({"type": "http"}, receive, send)
    return messages


@pytest.mark.parametrize(
    ("own", "added", "expected"),
    [
        (b"responseformat=delta", {"Acme": "Fast", "b": "1"}, b"responseformat=delta;acme=fast;b=1"),
        (b"", {"acme": "1"}, b"acme=1"),
        (b"responseformat=delta", {}, b"responseformat=delta"),
    ],
)
async def test_capabilities_follow_those_of_the_gateway(
    own: bytes, added: Mapping[str, str], expected: bytes
) -> None:
    start, body = await sent(added, (NAME, own), (b"x-other", b"1"))
    assert start["headers"] == [(NAME, expected), (b"x-other", b"1")]
    assert body == BODY


async def test_a_response_without_the_header_gets_none() -> None:
    start, body = await sent({"acme": "1"}, (b"x-other", b"1"))
    assert start["headers"] == [(b"x-other", b"1")]
    assert body == BODY
