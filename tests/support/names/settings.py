"""Whether names with dots are settings of `gateway.yaml`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sluicegate.config import Settings
from sluicegate.config.deprecated_keys import RENAMED, without_removed_keys
from sluicegate.config.large_yaml import Mark
from sluicegate.config.model_keys import known_keys
from sluicegate.config.yaml import Document

SECTIONS = frozenset(Settings.model_fields)


def is_setting(parts: Sequence[str]) -> bool:
    """Whether the configuration has such a key, or had it until recently.

    In sections of plugins, any key is accepted.
    """
    if any(old[: len(parts)] == tuple(parts) for old in RENAMED) or _was_removed(parts):
        return True
    for end, part in enumerate(parts):
        keys = known_keys(Settings, parts[:end])
        if keys == ["type"]:  # the plugin knows the others
            return True
        if keys and part not in keys:
            return False
    return True


def _was_removed(parts: Sequence[str]) -> bool:
    value: object = None
    for part in reversed(parts):
        value = {part: value}
    return without_removed_keys(Settings, Document(Path(), value, {(): Mark((1, 1), (1, 1))}))[1] != ()
