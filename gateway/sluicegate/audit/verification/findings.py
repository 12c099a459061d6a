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
    """What is wrong with a chain."""

    kind: FindingKind
    seq: int
    message: str


@dataclass(frozen=True, slots=True)
class VerifiedChain:
    """The result for one chain.

    Attributes:
        finding: The first thing that is wrong, or `None`.
    """

    chain: str
    records: int
    first: int
    head: ChainPosition
    finding: ChainFinding | None
    matched: frozenset[ChainPosition] = frozenset()
    notes: tuple[str, ...] = ()
    sealed: Mapping[int, int] = field(default_factory=dict)
