"""Reads manifests, and the data files that they list, with their statistics."""
