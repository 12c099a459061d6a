"""Columns of texts, from which answers about many files are joined."""
