"""The obstore stores of one bucket: its own, and some for credentials that others vended."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from sluicegate.lru import LRU

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

_MOST_VENDED: Final = 64

_Given = TypeVar("_Given", bound=Hashable)
_Store = TypeVar("_Store")


class ObjectStores(ABC, Generic[_Given, _Store]):
    """Makes stores when first needed and keeps them: each has a connection pool."""

    def __init__(self) -> None:
        self._own: _Store | None = None
        self._vended = LRU[_Given, _Store](_MOST_VENDED)

    def own(self) -> _Store:
        """The store that reads with the instance's own credentials."""
        if self._own is None:
            self._own = self._make_own()
        return self._own

    def vended(self, given: _Given) -> _Store:
        """A store that reads with given credentials; the least recently used one makes room."""
        store = self._vended.get(given)
        if store is None:
            store = self._make_vended(given)
            self._vended.put(given, store)
        return store

    def clear(self) -> None:
        """Forget all stores, and with them their connections."""
        self._own = None
        self._vended.clear()

    @abstractmethod
    def _make_own(self) -> _Store:
        """A store whose credentials are always fresh."""

    @abstractmethod
    def _make_vended(self, given: _Given) -> _Store:
        """A store with these credentials."""


def client_options(endpoint: str) -> ClientConfig:
    """Give up on silence quickly, not on size: a whole answer may take long as long as bytes flow."""
    return {
        "allow_http": endpoint.startswith("http://"),
        "connect_timeout": timedelta(seconds=2),
        "read_timeout": timedelta(seconds=5),
        "timeout": timedelta(minutes=5),
    }


def retry_config() -> RetryConfig:
    """No attempt starts after four seconds, so a dead store is an error within ten."""
    return {
        "max_retries": 3,
        "retry_timeout": timedelta(seconds=4),
        "backoff": {
            "init_backoff": timedelta(milliseconds=100),
            "max_backoff": timedelta(seconds=1),
            "base": 2,
        },
    }
