"""Clients' filter conditions, and which files they leave.

    predicate = from_hints(json_hint, sql_hints)
    if predicate is not None:
        files = prune(files, metadata, predicate)

A file is kept unless its partition values and statistics prove that the predicate is true for none
of its rows.
"""

from sluicegate.tables.predicates.hints import Predicate, from_hints
from sluicegate.tables.predicates.pruning import prune

__all__ = ["Predicate", "from_hints", "prune"]
