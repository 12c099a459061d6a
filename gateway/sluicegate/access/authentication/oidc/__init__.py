"""Accepts the tokens of configured OIDC issuers (OpenID Connect Discovery 1.0, RFC 7517)."""
