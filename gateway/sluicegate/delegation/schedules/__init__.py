"""Submits tasks at the times of cron expressions."""
