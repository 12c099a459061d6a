"""Filters as expression JSON: parsed, decided for partitions, and written as residuals."""
