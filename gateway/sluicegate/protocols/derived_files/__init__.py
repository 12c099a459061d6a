"""Files that no store contains and that the gateway generates when they are read."""
