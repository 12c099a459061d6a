"""A complete gateway on one machine: real tables, a real recipient, the official client."""
