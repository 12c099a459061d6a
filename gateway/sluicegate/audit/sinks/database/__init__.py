"""The chains in the database: one block for each commit, and one head for each chain."""
