"""BUILD_SNAPSHOT_INDEX: indexes with which the gateway reads large Delta tables in part."""

from __future__ import annotations

from typing import Final

BUILD_SNAPSHOT_INDEX: Final = "BUILD_SNAPSHOT_INDEX"
