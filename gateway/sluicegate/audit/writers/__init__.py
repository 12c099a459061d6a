"""Group commit: one task for each sink writes everything that waits in one step."""
