"""The protocols for recipients, one package each."""
