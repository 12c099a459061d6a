"""Assets that are not tables: volumes, models with their versions, and skills."""
