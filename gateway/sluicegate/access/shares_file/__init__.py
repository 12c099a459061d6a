"""The shares file: read, checked against the catalogs, compared with the database and applied."""
