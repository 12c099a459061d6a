"""OAuth 2.0 for recipients: client credentials, short-lived access tokens (RFC 6749, section 4.4)."""
