"""Explains what the database and the configuration decide about the access of recipients."""
