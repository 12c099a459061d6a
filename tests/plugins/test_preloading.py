"""Plugins load at startup what their first request needs; the message about a failure names them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.gateways.memory_instances import SigningStorage, memory_instances
from support.tables.memory_tables import MemoryFormat

from sluicegate.api import CatalogConfig, Policy, PolicyAction, Principal, SharedTable
from sluicegate.api.errors import ConfigurationError, UnsupportedOperation
from sluicegate.plugins.catalogs.guarded import GuardedCatalog
from sluicegate.plugins.preloading import preload
from sluicegate_testing.fakes import MemoryCatalog


class Everything(Policy):
    """Allows everything."""

    async def allowed(
        self, principal: Principal, action: PolicyAction, tables: frozenset[SharedTable]
    ) -> frozenset[SharedTable]:
        """All of them."""
        return tables


def _raising(error: Exception) -> Callable[[], None]:
    def raising() -> None:
        raise error

    return raising


def test_each_instance_is_preloaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    catalog, storage, table_format, policy = (
        MemoryCatalog({}),
        SigningStorage(),
        MemoryFormat(),
        Everything(),
    )
    for each in (catalog, storage, table_format, policy):
        monkeypatch.setattr(each, "preload", lambda each=each: loaded.append(type(each).__name__))
    guarded = GuardedCatalog("main", catalog, CatalogConfig())
    preload(
        memory_instances(
            storage,
            catalogs={"main": guarded},
            formats={"memory": table_format},
            policies={"all": policy},
        )
    )
    assert loaded == ["MemoryCatalog", "SigningStorage", "MemoryFormat", "Everything"]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("s3cret"), "cannot load what its requests need: ValueError in "),
        (ImportError("s3cret", name="fakelib"), "requests need: ImportError for the module fakelib"),
        (UnsupportedOperation("needs an extra"), "storage 'memory-1': needs an extra"),
    ],
)
def test_the_instance_that_cannot_load_is_named(
    monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    storage = SigningStorage()
    monkeypatch.setattr(storage, "preload", _raising(error))
    with pytest.raises(ConfigurationError) as refused:
        preload(memory_instances(storage))
    assert "storage 'memory-1'" in refused.value.message
    assert reason in refused.value.message
    assert "s3cret" not in refused.value.for_operators
