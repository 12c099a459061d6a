"""Seconds of CPU time that environments may take, so that all take 25 minutes on two idle cores."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

BUDGETS: Mapping[str, int] = MappingProxyType(
    {"py311": 1300, "plugins": 300, "spark": 900, "docs": 150, "packaging": 120}
)
