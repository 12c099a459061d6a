"""What clients do, by the protocol that they use."""
