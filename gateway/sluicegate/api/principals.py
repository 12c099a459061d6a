"""The recipient that sends a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated recipient, with the method of authentication and the address."""

    id: str
    name: str
    method: str
    address: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
