"""Whether names with dots are settings of `gateway.yaml`."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.config import Settings
from sluicegate.config.deprecated_keys import RENAMED
from sluicegate.config.model_keys import known_keys

SECTIONS = frozenset(Settings.model_fields)


def is_setting(parts: Sequence[str]) -> bool:
    """Whether the configuration has such a key, or had it until recently.

    In sections of plugins, any key is accepted.
    """
    if any(old[: len(parts)] == tuple(parts) for old in RENAMED):
        return True
    for end, part in enumerate(parts):
        keys = known_keys(Settings, parts[:end])
        if keys == ["type"]:  # the plugin knows the others
            return True
        if keys and part not in keys:
            return False
    return True
