"""Diagnoses a deployment: configuration, database, catalogs, storage, credentials, TLS and issuers."""
