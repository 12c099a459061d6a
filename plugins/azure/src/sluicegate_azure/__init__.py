"""Supports Azure Blob Storage and Data Lake Storage Gen2."""
