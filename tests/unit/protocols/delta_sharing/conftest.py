from __future__ import annotations

import pytest

from sluicegate.protocols.delta_sharing import pipeline


@pytest.fixture
def same_allocators(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Building a pipeline does not change how this process frees memory, but is counted here."""
    built: list[str] = []
    monkeypatch.setattr(pipeline, "return_freed_memory", lambda: built.append("pipeline"))
    return built
