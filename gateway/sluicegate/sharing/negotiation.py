"""What a client, a table and a share can agree on: one pure function that names what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

from sluicegate.errors import UnsupportedOperation
from sluicegate.nouns import AccessMode
from sluicegate.sharing.capabilities import HEADER, Capabilities
from sluicegate.tables.features import FeatureNeeds

FORMATS = ("delta", "parquet")

_DIR_ONLY = "this table is shared by directory access (dir) only"
_NOTHING = (
    f"{_DIR_ONLY}, and temporary credentials cannot be had for it: ask the provider to share it by url"
)


@dataclass(frozen=True, slots=True)
class Agreement:
    """The form of the answer.

    Attributes:
        response_format: `parquet` or `delta`.
        reader_features: In delta format, the table's features that the answered protocol names, in
            the protocol's own spelling.
        end_stream_action: The last line is an `endStreamAction`.
        access_modes: The answer to the proposal's `accessMode` capability; empty where it counts for
            nothing.
    """

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
) -> Agreement:
    """Agree on a response format, reader features and, for metadata, access modes.

    A client that lists both formats gets parquet exactly when the table can be said in it
    (delta-sharing-protocol.md, "responseFormat", "Compatibility").

    Args:
        client: What the request's header says.
        needs: What reading the table takes.
        offered: The access modes that can be served.
        metadata: Table metadata is asked for; everything else is answered with presigned URLs.

    Raises:
        UnsupportedOperation: Nothing fits; the message names what is missing and how to ask for it.
    """
    modes = _metadata_modes(client, offered) if metadata else _url_only(offered)
    agreement = _agree_on_format(client, needs)
    return replace(agreement, access_modes=modes) if modes else agreement


def _agree_on_format(client: Capabilities, needs: FeatureNeeds) -> Agreement:
    wanted = [name for name in client.response_formats if name in FORMATS]
    if not wanted:
        listed = ",".join(client.response_formats)
        raise UnsupportedOperation(
            f"responseformat={listed} is not known here: ask for parquet, delta or both"
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
    """The answer to the `accessMode` capability (directory-based-access.md, "Compatability").

    A client that does not send it reads the metadata's `accessModes`. One that wants `dir` where only
    `url` is offered is told so, and has to give up by itself; the other way round it is refused.
    """
    if not offered:
        raise UnsupportedOperation(_NOTHING)
    if not client.access_modes:
        return ()
    wanted = [mode for mode in client.access_modes if mode in get_args(AccessMode)]
    if not wanted:
        listed = ",".join(client.access_modes)
        raise UnsupportedOperation(f"accessmode={listed} is not known here: ask for url, dir or both")
    common = tuple(mode for mode in offered if mode in wanted)
    if not common and "url" not in offered:
        raise UnsupportedOperation(f"{_DIR_ONLY}: send the header {HEADER}: accessmode=dir")
    return common or ("url",)


def _url_only(offered: Sequence[AccessMode]) -> tuple[AccessMode, ...]:
    if not offered:
        raise UnsupportedOperation(_NOTHING)
    if "url" not in offered:
        raise UnsupportedOperation(
            f"{_DIR_ONLY}: ask for temporary credentials (temporary-table-credentials) instead of "
            "presigned URLs"
        )
    return ()


def _beyond_parquet(needs: FeatureNeeds) -> str:
    used = ", ".join(needs.beyond_parquet)
    return f"this table cannot be answered in parquet format because it uses {used}: {_ask(needs)}"


def _missing_features(missing: list[str], needs: FeatureNeeds) -> str:
    plural = "s" if len(missing) > 1 else ""
    return (
        f"reading this table needs the reader feature{plural} {', '.join(missing)}, which the client "
        f"did not list: {_ask(needs)}"
    )


def _ask(needs: FeatureNeeds) -> str:
    features = f";readerfeatures={','.join(needs.required).lower()}" if needs.required else ""
    return f"send the header {HEADER}: responseformat=delta{features}"
