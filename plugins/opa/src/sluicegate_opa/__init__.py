"""Open Policy Agent for Sluicegate: Rego policies decide what recipients can read."""
