"""Reads deleted rows, and creates deletion vectors from them."""
