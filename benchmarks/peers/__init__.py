"""Implementations that benchmarks compare with: libraries, a plain queue, a plain route."""
