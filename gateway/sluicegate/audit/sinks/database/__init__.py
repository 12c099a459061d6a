"""The chain in the database: one block for each commit, and one head that all writers lock."""
