"""The obstore stores of one bucket: one with configured credentials, others with vended ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from sluicegate._util.lru import LRU

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

_MOST_VENDED: Final = 64

_Given = TypeVar("_Given", bound=Hashable)
_Store = TypeVar("_Store")


class ObjectStores(ABC, Generic[_Given, _Store]):
    """Creates stores when needed and keeps them, because each has a connection pool."""

    def __init__(self) -> None:
        self._own: _Store | None = None
        self._vended = LRU[_Given, _Store](_MOST_VENDED)

    def own(self) -> _Store:
        """Return the store that reads with the credentials of the storage instance."""
        if self._own is None:
            self._own = self._make_own()
        return self._own

    def vended(self, given: _Given) -> _Store:
        """Return a store that reads with given credentials. The least recently used one is evicted."""
        store = self._vended.get(given)
        if store is None:
            store = self._make_vended(given)
            self._vended.put(given, store)
        return store

    def clear(self) -> None:
        """Drop all stores and their connections."""
        self._own = None
        self._vended.clear()

    @abstractmethod
    def _make_own(self) -> _Store:
        """Create a store that renews the credentials of the storage instance."""

    @abstractmethod
    def _make_vended(self, given: _Given) -> _Store:
        """Create a store with these credentials."""


def client_options(endpoint: str, *, silence: timedelta = timedelta(seconds=5)) -> ClientConfig:
    """Return short timeouts for a silent server, and none for the total: large responses take long.

    Args:
        endpoint: URL of the store.
        silence: How long the store can send nothing. Tasks that nobody waits for can have longer times:
            a loaded store can need more than the default for one request that deletes 1,000 objects.
    """
    return {
        "allow_http": endpoint.startswith("http://"),
        "connect_timeout": timedelta(seconds=2),
        "read_timeout": silence,
        "timeout": timedelta(minutes=5),
    }


def retry_config() -> RetryConfig:
    """Start no attempt after four seconds, so that an unreachable store is an error within ten."""
    return {
        "max_retries": 3,
        "retry_timeout": timedelta(seconds=4),
        "backoff": {
            "init_backoff": timedelta(milliseconds=100),
            "max_backoff": timedelta(seconds=1),
            "base": 2,
        },
    }
