"""What stands between requests and configured catalogs: memory, bounds, and a circuit for bad days."""
