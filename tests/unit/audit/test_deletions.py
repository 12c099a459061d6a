"""Verification compares the records of deletions with the retention."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.audit.records import EXAMPLE, KEYS

from sluicegate.audit.chain import START
from sluicegate.audit.encoding import decode, encode
from sluicegate.audit.own_records import deleted
from sluicegate.audit.verification.findings import VerifiedChain
from sluicegate.audit.verification.verifier import ChainVerifier

_DAY = 86_400
_POSITION = f"5:{64 * '0'}"


def _verified(*issued: dict[str, int], retention: int | None = 10 * _DAY) -> VerifiedChain:
    """The result for records of deletions. Times are in days before the deletion."""
    bodies = []
    for each in issued:
        record = decode(deleted(5, _POSITION, None, {}).body)
        at = EXAMPLE.at
        times = {name: at - days * _DAY * 1000 for name, days in each.items()}
        bodies.append(encode(replace(record, at=at, issued={**record.issued, **times})))
    verifier = ChainVerifier("test", KEYS, START, retention=retention)
    for line in KEYS.sealing.seal(bodies, START)[0]:
        verifier.feed(line)
    return verifier.finish(None, has_head=False)


def test_a_deletion_of_old_records_is_in_order() -> None:
    result = _verified({"last_at": 11, "before": 10}, {}, {"last_at": 3})
    assert (result.records, result.finding, result.notes) == (3, None, ())


@pytest.mark.parametrize("last_at", [10, 9, -1])
def test_a_deletion_of_records_that_had_to_stay_is_reported(last_at: int) -> None:
    result = _verified({"last_at": 11, "before": 10}, {"last_at": last_at, "before": 10})
    assert result.finding is not None
    assert (result.finding.kind, result.finding.seq) == ("deleted", 2)
    assert "record 2 says that records up to" in result.finding.message


def test_deletions_with_a_shorter_retention_than_now_are_noted() -> None:
    shorter = {"last_at": 2, "before": 1}
    result = _verified({"last_at": 11, "before": 10}, shorter, shorter)
    assert result.finding is None
    (note,) = result.notes
    assert note.startswith("2 deletions, the first one in record 2,")
    assert _verified(shorter, retention=None).notes == ()
    assert _verified(shorter, retention=_DAY).notes == ()
