"""The configuration of copies of tables for recipients."""
