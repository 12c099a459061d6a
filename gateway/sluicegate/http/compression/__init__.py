"""Compresses responses."""
