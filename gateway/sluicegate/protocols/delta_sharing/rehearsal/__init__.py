"""Queries of a table in memory, so that the first query of a recipient finds everything loaded."""
