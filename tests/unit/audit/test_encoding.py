"""Each record can be encoded, whatever a request contains."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.audit.records import EXAMPLE

from sluicegate.audit.encoding import MAX_BODY, Packer, decode, encode, unpack
from sluicegate.audit.records import AuditRecord

_ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))


def test_a_record_is_decoded_as_it_was() -> None:
    record = replace(EXAMPLE, changes=("added share x",))
    assert decode(encode(record)) == record


@given(_ANY_TEXT, _ANY_TEXT)
def test_each_text_can_be_encoded(resource: str, rule: str) -> None:
    body = encode(replace(EXAMPLE, resource=resource, rule=rule, issued={"what": rule}))
    assert b"\n" not in body
    decoded = decode(body)
    assert decoded.request_id == EXAMPLE.request_id
    assert decoded.resource == resource.encode(errors="replace").decode()


@pytest.mark.parametrize("value", [1 << 70, float("nan"), MappingProxyType({"a": 1}), object(), (1, 2)])
def test_other_values_are_encoded_as_well_as_possible(value: object) -> None:
    assert orjson.loads(encode(replace(EXAMPLE, issued={"what": value})))["issued"].keys() == {"what"}


@pytest.mark.parametrize(
    "long",
    [
        replace(EXAMPLE, changes=tuple(f"added share {number}" for number in range(100_000))),
        replace(EXAMPLE, changes=("x" * 1_000_000,)),
        replace(EXAMPLE, resource="\x01" * 1_000_000),
        replace(EXAMPLE, issued={"key" * 50_000: {"nested": "x" * 100_000}}),
        replace(EXAMPLE, issued={str(number): "x" * 100_000 for number in range(100)}),
        replace(EXAMPLE, actor="\ud800" * 90_000, rule="\ud800" * 90_000, method="\ud800" * 90_000),
    ],
    ids=["changes", "change", "resource", "issued", "many", "all"],
)
def test_a_long_record_is_shortened(long: AuditRecord) -> None:
    body = encode(long)
    assert len(body) <= 2 * MAX_BODY
    assert decode(body).request_id == EXAMPLE.request_id


def test_a_shortened_record_says_how_many_changes_are_left_out() -> None:
    changes = tuple(f"added share {number}" for number in range(100_000))
    short = decode(encode(replace(EXAMPLE, changes=changes)))
    assert short.changes[0] == "added share 0"
    assert short.changes[-1] == "… and 99980 more"


@given(st.lists(st.binary().map(lambda each: b"{%b}" % each.replace(b"\n", b"")), min_size=1))
def test_a_block_is_unpacked_as_it_was(lines: list[bytes]) -> None:
    packer = Packer()
    assert [unpack(packer.pack(lines)) for _ in range(2)] == [lines, lines]


@pytest.mark.parametrize(
    "packed", [b"", b"\x28\xb5\x2f\xfd", b"garbage", Packer().pack([b"{" * 5000])[:-3]]
)
def test_a_damaged_block_is_refused(packed: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        unpack(packed)
