"""Checks that sections of the configuration fit the plugins that they configure."""
