"""Chains in files: a directory contains one chain for each process that writes at the same time."""
