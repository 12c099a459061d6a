"""Benchmarks that print their figures with the peers beside them."""
