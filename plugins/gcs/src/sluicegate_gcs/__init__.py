"""Google Cloud Storage for Sluicegate."""
