"""Explains which recipients can read a table or another asset now, and through which protocols."""
