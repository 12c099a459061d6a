"""Writes indexes: the order of files, their parts, and what describes these."""
