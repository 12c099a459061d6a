"""What recipients read from stores, summed from the Delta table `daily` that `COLLECT_USAGE` writes."""
