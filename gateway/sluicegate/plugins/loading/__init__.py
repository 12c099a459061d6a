"""Finds installed plugins, checks for which API they are written, and imports them."""
