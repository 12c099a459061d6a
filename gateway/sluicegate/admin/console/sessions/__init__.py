"""Sessions of administrators, their cookies, and the protection of forms."""
