"""Tables listed in a CSV or YAML file, as a catalog of Sluicegate."""
