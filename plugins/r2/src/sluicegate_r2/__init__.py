"""Cloudflare R2 for Sluicegate."""
