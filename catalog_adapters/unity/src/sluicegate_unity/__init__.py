"""Shares tables of a Unity Catalog."""
