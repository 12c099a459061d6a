"""Shares tables by their storage location, without a catalog service."""
