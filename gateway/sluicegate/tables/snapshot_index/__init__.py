"""Live files of large Delta tables as sorted Parquet files, which queries read in part (ADR 76)."""
