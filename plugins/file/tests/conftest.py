from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from sluicegate.api import ObjectDirectory, Presigned, Storage
from sluicegate_file.plugin import sluicegate_register_storage
from sluicegate_testing.leaks import no_secret_leaks

__all__ = ["no_secret_leaks"]

Build = Callable[[str | Path], Storage]


@dataclass(frozen=True)
class PlainLinks:
    """Links that show what was signed."""

    def sign(self, paths: Sequence[str], expires_in: int) -> Presigned:
        return Presigned([f"https://gateway.example/{path}" for path in paths], expires_in * 1000)


@dataclass(frozen=True)
class Context:
    name: str = "tables"
    links: PlainLinks = PlainLinks()

    async def open(self, location: str) -> ObjectDirectory:
        raise NotImplementedError(location)


@pytest.fixture
def build() -> Build:
    """Build a storage as the gateway does: by its registered type."""
    (kind,) = sluicegate_register_storage()

    def built(root: str | Path) -> Storage:
        return kind.factory(kind.config(prefix=f"file://{root}"), Context())

    return built


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    return root


@pytest.fixture
def storage(build: Build, root: Path) -> Storage:
    return build(root)
