"""What commands manage: the database of a configuration, or a gateway with the Admin API."""
