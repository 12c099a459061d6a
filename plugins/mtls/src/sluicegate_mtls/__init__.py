"""Client certificates for Sluicegate: recipients authenticate by mutual TLS."""
