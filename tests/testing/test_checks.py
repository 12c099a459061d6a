"""The checks that all suites share find what they are meant to find, and nothing else."""

from __future__ import annotations

import asyncio
import importlib
import select
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import SecretStr

from sluicegate.api import PluginConfig
from sluicegate_testing.checks.blocking import never_blocking
from sluicegate_testing.checks.failures import configured_secrets


class Key(PluginConfig):
    secret: SecretStr


class Keys(PluginConfig):
    keys: Mapping[str, Key]


class Instance:
    def __init__(self, config: Keys) -> None:
        self._config = config


def test_secrets_of_a_model_with_a_field_named_keys_are_found() -> None:
    config = Keys(keys={"acme": Key(secret=SecretStr("a secret of acme"))})
    assert configured_secrets(Instance(config)) == {"a secret of acme"}


async def test_a_slow_import_does_not_count_as_a_blocked_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A pipe's end that nobody writes to, as a disk that does not respond.
    code = "import select, os\nread, _ = os.pipe()\nselect.select([read], [], [], 1.5)\n"
    (tmp_path / "slow_to_import.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    async with never_blocking():
        await asyncio.sleep(0.1)
        importlib.import_module("slow_to_import")


async def test_a_call_without_an_audit_event_is_found_with_its_place() -> None:
    async def check() -> None:
        async with never_blocking():
            await asyncio.sleep(0.1)
            select.select([], [], [], 1.5)

    with pytest.raises(AssertionError, match=r"does not return in .*test_checks\.py:\d+"):
        await check()
