"""What stands between requests and configured catalogs: memory, bounds, and rest after failures."""
