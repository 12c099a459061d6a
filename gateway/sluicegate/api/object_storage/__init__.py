"""The base class of storages of object stores, and its parts, which are helpers for other storages."""
