"""Clients and helpers for plugins, which import all of them from `sluicegate.api`."""
