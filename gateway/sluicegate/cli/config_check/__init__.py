"""Finds all problems of a configuration file at once, instead of those of the first step that fails."""
