"""Access of Iceberg clients to single files: paths that carry a proof, and remote signing."""
