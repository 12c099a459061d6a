"""Verifies chains: in the database, in the files of a sink, and in exports."""
