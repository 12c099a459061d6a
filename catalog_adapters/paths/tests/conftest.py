from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import obstore
import pytest
from obstore.store import MemoryStore, ObjectStore

from sluicegate.api import Catalog, ConfigurationError, LinkSigner, ObjectDirectory, PermissionDenied
from sluicegate_paths.plugin import sluicegate_register_catalogs
from sluicegate_testing.leaks import no_secret_leaks

__all__ = ["no_secret_leaks"]

Build = Callable[[Mapping[str, str]], Catalog]


@dataclass
class Lake:
    """The storage of `s3://lake/`. Locations below `s3://lake/walled/` can't be opened."""

    store: ObjectStore = field(default_factory=MemoryStore)
    opened: list[str] = field(default_factory=list)
    name: str = "raw"

    @property
    def links(self) -> LinkSigner:
        raise NotImplementedError

    async def open(self, location: str) -> ObjectDirectory:
        self.opened.append(location)
        if "/walled" in location:
            raise PermissionDenied("walled")
        if not location.startswith("s3://lake"):
            raise ConfigurationError("no configured storage serves it", detail=location)
        return ObjectDirectory(self.store, location.removeprefix("s3://lake").strip("/"))

    def put(self, *keys: str, content: bytes = b"{}") -> None:
        for key in keys:
            obstore.put(self.store, key, content)


@pytest.fixture
def lake() -> Lake:
    return Lake()


@pytest.fixture
def build(lake: Lake) -> Build:
    """Build a catalog over the lake as the gateway does: by its registered type."""
    (kind,) = sluicegate_register_catalogs()
    return lambda schemas: kind.factory(kind.config.model_validate({"schemas": schemas}), lake)
