"""Negotiation between client, table, and share: a pure function that reports what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.api.models import AccessMode

if TYPE_CHECKING:
    from sluicegate.tables.features import FeatureNeeds  # loads Arrow

HEADER = "delta-sharing-capabilities"

_TRUE = ("true",)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The capabilities that a client sends, with keys and values in lowercase.

    Attributes:
        access_modes: The proposal's `accessMode` capability. `None` if it is not sent.
    """

    response_formats: tuple[str, ...] = ("parquet",)
    reader_features: frozenset[str] = frozenset()
    end_stream_action: bool = False
    async_query: bool = False
    access_modes: tuple[str, ...] | None = None


def parse(header: str | None) -> Capabilities:
    """Parse the header. Unknown keys and malformed parts are ignored, so that the protocol can grow."""
    if not header:
        return Capabilities()
    values: dict[str, tuple[str, ...]] = {}
    for part in header.lower().split(";"):
        key, equals, text = part.partition("=")
        if equals:
            values[key.strip()] = tuple(item for raw in text.split(",") if (item := raw.strip()))
    return Capabilities(
        response_formats=values.get("responseformat") or ("parquet",),
        reader_features=frozenset(values.get("readerfeatures", ())),
        end_stream_action=values.get("includeendstreamaction") == _TRUE,
        async_query=values.get("asyncquery") == _TRUE,
        access_modes=values.get("accessmode"),
    )


def encode(answer: Mapping[str, str]) -> str:
    """The response header's value: lowercase `key=value` parts, which clients search as text."""
    return ";".join(f"{key}={value}" for key, value in answer.items()).lower()


FORMATS = ("delta", "parquet")

ICEBERG_CATALOG = (
    "from the Iceberg catalog of this server (icebergEndpoint in the profile), which vends credentials "
    "for it"
)
_DIR_ONLY = "this table is shared with directory access (dir) only"
_NOTHING = f"{_DIR_ONLY}, and it offers no temporary credentials: ask the provider to share it with url"


@dataclass(frozen=True, slots=True)
class Agreement:
    """The negotiated format of the response."""

    response_format: str
    reader_features: tuple[str, ...] = ()
    end_stream_action: bool = False
    access_modes: tuple[AccessMode, ...] = ()

    def header(self) -> dict[str, str]:
        """Keys and values for the response's capabilities header."""
        answer = {"responseformat": self.response_format}
        if self.end_stream_action:
            answer["includeendstreamaction"] = "true"
        if self.access_modes:
            answer["accessmode"] = ",".join(self.access_modes)
        return answer


def negotiate(
    client: Capabilities,
    needs: FeatureNeeds,
    *,
    offered: Sequence[AccessMode] = ("url",),
    metadata: bool = False,
    iceberg: bool = False,
) -> Agreement:
    """Negotiate a response format, reader features, and, for metadata, access modes.

    A client that lists both formats gets parquet exactly if the table can be represented in it (Delta
    Sharing protocol, "responseFormat", "Compatibility").
    """
    if iceberg and "url" not in offered:
        raise UnsupportedOperation(f"{_DIR_ONLY}: read it {ICEBERG_CATALOG}")
    modes = _metadata_modes(client, offered) if metadata else _url_only(offered)
    agreement = _agree_on_format(client, needs)
    return replace(agreement, access_modes=modes) if modes else agreement


def _agree_on_format(client: Capabilities, needs: FeatureNeeds) -> Agreement:
    wanted = [name for name in client.response_formats if name in FORMATS]
    if not wanted:
        listed = ",".join(client.response_formats)
        raise UnsupportedOperation(
            f"responseformat={listed} is not supported: request parquet, delta or both"
        )
    if "parquet" in wanted and not needs.beyond_parquet:
        return Agreement("parquet", end_stream_action=client.end_stream_action)
    if "delta" not in wanted:
        raise UnsupportedOperation(_beyond_parquet(needs))
    missing = [name for name in needs.required if name.lower() not in client.reader_features]
    if missing:
        raise UnsupportedOperation(_missing_features(missing, needs))
    kept = tuple(
        name
        for name in needs.declared
        if name in needs.required or name.lower() in client.reader_features
    )
    return Agreement("delta", kept, end_stream_action=client.end_stream_action)


def _metadata_modes(client: Capabilities, offered: Sequence[AccessMode]) -> tuple[AccessMode, ...]:
    """The response to the `accessMode` capability (directory access proposal, "Compatability").

    A client that does not send it reads the metadata's `accessModes`. If a client wants `dir` and only
    `url` is offered, the response says so and the client must give up. In the opposite case, the
    request is rejected.
    """
    if not offered:
        raise UnsupportedOperation(_NOTHING)
    if not client.access_modes:
        return ()
    wanted = [mode for mode in client.access_modes if mode in get_args(AccessMode)]
    if not wanted:
        listed = ",".join(client.access_modes)
        raise UnsupportedOperation(f"accessmode={listed} is not supported: request url, dir or both")
    common = tuple(mode for mode in offered if mode in wanted)
    if not common and "url" not in offered:
        raise UnsupportedOperation(f"{_DIR_ONLY}: send the header {HEADER}: accessmode=dir")
    return common or ("url",)


def _url_only(offered: Sequence[AccessMode]) -> tuple[AccessMode, ...]:
    if not offered:
        raise UnsupportedOperation(_NOTHING)
    if "url" not in offered:
        raise UnsupportedOperation(
            f"{_DIR_ONLY}: request temporary credentials (temporary-table-credentials) instead of "
            "presigned URLs"
        )
    return ()


def _beyond_parquet(needs: FeatureNeeds) -> str:
    used = ", ".join(needs.beyond_parquet)
    return f"this table cannot be returned in parquet format because it uses {used}: {_ask(needs)}"


def _missing_features(missing: list[str], needs: FeatureNeeds) -> str:
    plural = "s" if len(missing) > 1 else ""
    return (
        f"reading this table needs the reader feature{plural} {', '.join(missing)}, which the client "
        f"did not list: {_ask(needs)}"
    )


def _ask(needs: FeatureNeeds) -> str:
    features = f";readerfeatures={','.join(needs.required).lower()}" if needs.required else ""
    return (
        f"send the header {HEADER}: responseformat=delta{features} "
        '(in Spark: .option("responseFormat", "delta"))'
    )


class PluginCapabilities:
    """Middleware that adds plugins' capabilities to every response with a capabilities header."""

    def __init__(self, app: ASGIApp, added: Mapping[str, str]) -> None:
        self._app = app
        self._added = encode(added)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a scope."""

        async def announce(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if HEADER in headers:
                    headers[HEADER] = ";".join(filter(None, (headers[HEADER], self._added)))
            await send(message)

        await self._app(scope, receive, announce)
