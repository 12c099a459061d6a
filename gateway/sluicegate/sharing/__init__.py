"""The Delta Sharing door: listing, negotiation, queries and their lines."""
