"""The files of a Delta log: names, listings, commits, checkpoints and compactions."""
