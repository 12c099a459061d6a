"""The capabilities header (Delta Sharing protocol, "Delta Sharing Capabilities Header")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

HEADER = "delta-sharing-capabilities"

_TRUE = ("true",)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The capabilities that a client sends, with keys and values in lowercase.

    Attributes:
        response_formats: In the client's order. `("parquet",)` if the client names none.
        reader_features: Delta reader features that the client supports.
        end_stream_action: Whether the client wants an `endStreamAction` as the last line.
        async_query: Whether the client supports asynchronous queries.
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
