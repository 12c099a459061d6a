"""One listener for several processes: which of them accepts a connection."""
