"""What the adapter offers to the gateway."""
