"""Keys that sign what the gateway issues: links, access tokens, and page tokens."""
