"""The resources of the Admin API, one module for each kind."""
