"""What recipients were offered, summed from the ledger by day, recipient, share or table."""
