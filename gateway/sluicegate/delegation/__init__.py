"""The delegation service, which runs long tasks on behalf of catalogs."""
