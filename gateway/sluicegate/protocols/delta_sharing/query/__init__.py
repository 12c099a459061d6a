"""Queries of a table: pruning, pages, asynchronous runs."""
