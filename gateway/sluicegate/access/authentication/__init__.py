"""Authenticates requests: bearer tokens, JWTs, OAuth clients and authenticators of plugins."""
