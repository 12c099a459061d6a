"""Tables of a Unity Catalog, for Sluicegate."""
