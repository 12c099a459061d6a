"""What a running gateway gives to plugins, and what they add to it; part of `sluicegate.api`."""
