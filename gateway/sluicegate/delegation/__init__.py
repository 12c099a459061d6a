"""The delegation service: catalogs hand long tasks over and get on with their own."""
