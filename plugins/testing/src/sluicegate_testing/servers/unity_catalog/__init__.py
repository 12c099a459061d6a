"""A fake of Unity Catalog OSS 0.6."""
