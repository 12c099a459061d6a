"""Real servers that plugin tests start: stores that check signatures, not mocks."""
