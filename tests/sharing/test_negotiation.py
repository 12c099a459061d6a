import pytest

from sluicegate.errors import UnsupportedOperation
from sluicegate.sharing.capabilities import parse
from sluicegate.sharing.negotiation import Agreement, negotiate
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
        ("responseformat=parquet", VECTORS, "uses deletionVectors"),
        ("responseformat=delta", VECTORS, "needs the reader feature deletionVectors"),
        ("responseformat=delta", MAPPED_PLAINLY, "readerfeatures=columnmapping"),
        ("responseformat=delta,parquet;readerfeatures=columnmapping", VECTORS, "deletionVectors"),
        ("responseformat=delta;readerfeatures=deletionvectors", UNKNOWN, "warpDrive"),
        ("responseformat=orc", PLAIN, "responseformat=orc is not known"),
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
    asked = negotiate(parse("includeendstreamaction=true"), PLAIN)
    assert asked.header() == {"responseformat": "parquet", "includeendstreamaction": "true"}
