"""Presigns the files of responses, and records the URLs in the ledger."""
