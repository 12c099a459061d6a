"""What a client, a table and a share can agree on: one pure function that names what is missing."""

from __future__ import annotations

from dataclasses import dataclass

from sluicegate.errors import UnsupportedOperation
from sluicegate.sharing.capabilities import HEADER, Capabilities
from sluicegate.tables.features import FeatureNeeds

FORMATS = ("delta", "parquet")


@dataclass(frozen=True, slots=True)
class Agreement:
    """The form of the answer.

    Attributes:
        response_format: `parquet` or `delta`.
        reader_features: In delta format, the table's features that the answered protocol names, in
            the protocol's own spelling.
        end_stream_action: The last line is an `endStreamAction`.
    """

    response_format: str
    reader_features: tuple[str, ...] = ()
    end_stream_action: bool = False

    def header(self) -> dict[str, str]:
        """Keys and values for the response's capabilities header."""
        answer = {"responseformat": self.response_format}
        if self.end_stream_action:
            answer["includeendstreamaction"] = "true"
        return answer


def negotiate(client: Capabilities, needs: FeatureNeeds, *, url_access: bool = True) -> Agreement:
    """Agree on a response format and reader features.

    A client that lists both formats gets parquet exactly when the table can be said in it
    (delta-sharing-protocol.md, "responseFormat", "Compatibility").

    Args:
        client: What the request's header says.
        needs: What reading the table takes.
        url_access: The share allows reading by presigned URLs.

    Raises:
        UnsupportedOperation: Nothing fits; the message names what is missing and how to ask for it.
    """
    if not url_access:
        raise UnsupportedOperation(
            "this table is shared by directory access (dir) only: ask for temporary credentials "
            "instead of presigned URLs"
        )
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
