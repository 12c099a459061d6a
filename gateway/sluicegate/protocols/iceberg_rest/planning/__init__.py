"""Server-side planning of scans (Iceberg REST specification, "planTableScan")."""
