"""A table whatever its format: snapshots as Arrow columns, the Delta log, predicates and pruning."""
