"""Access mode `dir`: temporary credentials for a table's directory."""
