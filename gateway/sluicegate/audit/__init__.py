"""The audit log: a hash-chained record of every decision, written before its response."""
