"""Administrators with tokens of OIDC issuers."""
