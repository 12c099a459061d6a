"""Where chains are stored: the database, and files; and the events of plugins."""
