"""Supports Google Cloud Storage."""
