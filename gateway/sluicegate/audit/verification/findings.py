"""What verification finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sluicegate.audit.chain import ChainPosition

FindingKind = Literal[
    "changed",
    "removed",
    "inserted",
    "reordered",
    "cut off",
    "unknown key",
    "head",
    "broken",
    "unreadable",
    "label",
    "deleted",
    "unexpected",
]


@dataclass(frozen=True, slots=True)
class ChainFinding:
    """What is wrong with a chain.

    Attributes:
        seq: Number of the first record that is wrong or missing.
        message: What was found.
    """

    kind: FindingKind
    seq: int
    message: str


@dataclass(frozen=True, slots=True)
class VerifiedChain:
    """The result for one chain.

    Attributes:
        chain: Its name.
        records: Number of records that were verified.
        first: Number of the first one, or 0 if there are none.
        head: The last record that was verified.
        finding: The first thing that is wrong, or `None`.
        matched: The expected positions that the chain contains.
        notes: What is not wrong, but worth a look.
        sealed: Up to which record the chain says that others were written, by their numbers.
    """

    chain: str
    records: int
    first: int
    head: ChainPosition
    finding: ChainFinding | None
    matched: frozenset[ChainPosition] = frozenset()
    notes: tuple[str, ...] = ()
    sealed: Mapping[int, int] = field(default_factory=dict)
