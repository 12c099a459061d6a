"""Servers for the tests of plugins: real stores that check signatures, and fakes of other services."""
