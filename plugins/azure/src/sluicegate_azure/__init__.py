"""Azure Blob Storage and Data Lake Storage Gen2 for Sluicegate."""
