"""COLLECT_USAGE: Delta tables of what recipients were offered, and of what they read from stores."""

from __future__ import annotations

from typing import Final

COLLECT_USAGE: Final = "COLLECT_USAGE"
