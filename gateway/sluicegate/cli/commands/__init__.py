"""One module for each command of `sluicegate`."""
