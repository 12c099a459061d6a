"""The task queue in the database: states, leases, retries and retention."""
