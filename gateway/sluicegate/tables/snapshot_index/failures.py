"""Why an index is not used for a request. The table is then read from its log."""

from __future__ import annotations


class IndexUnusable(Exception):
    """An index is damaged, incomplete, or not suitable for a request. The message says why."""


class IndexUnsuitable(IndexUnusable):
    """The index is fine, but one request needs more than it offers."""
