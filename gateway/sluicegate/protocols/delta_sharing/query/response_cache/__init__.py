"""Caches encoded responses to queries, for requests that would get the same lines."""
