"""Local files for Sluicegate, served by signed links."""
