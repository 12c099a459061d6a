"""Supports Cloudflare R2."""
