"""Reads tables for many concurrent requests: shared loads, cached failures, released memory."""
