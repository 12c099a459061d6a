"""Tables that lie as raw paths in storage, for Sluicegate."""
