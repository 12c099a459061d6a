"""Where the document is served."""

DOCUMENT = "/openapi.json"
"""Path below that of the Delta Sharing protocol."""
