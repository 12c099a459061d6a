"""Change data feeds and streaming reads."""
