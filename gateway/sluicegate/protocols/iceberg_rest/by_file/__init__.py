"""Serves tables that clients read file by file: views, field ids, generated files."""
