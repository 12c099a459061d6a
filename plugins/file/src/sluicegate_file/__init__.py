"""Supports local files, served through signed links."""
