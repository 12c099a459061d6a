"""Cedar for Sluicegate: embedded policies decide what recipients can read."""
