"""The Delta Sharing protocol: listings, negotiation, queries, and their NDJSON lines."""
