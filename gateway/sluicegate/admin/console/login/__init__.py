"""The login: with the token of an administrator, or at an OIDC issuer."""
