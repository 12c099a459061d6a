"""The Admin API: shares, recipients, grants and operations over HTTP, for administrators."""
