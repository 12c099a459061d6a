"""Generic helpers, independent of the gateway: units, clocks, caches, lazy values."""
