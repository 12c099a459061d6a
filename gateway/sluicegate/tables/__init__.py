"""Tables of any format: snapshots as Arrow columns, the Delta log, predicates, and pruning."""
