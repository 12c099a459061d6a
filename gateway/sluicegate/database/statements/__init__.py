"""Statements in the dialects of both databases."""
