"""Serves files through signed links if a store cannot presign: local files, for example.

A link is `{public_url}/content/{storage}/{percent-encoded path}` with the query parameters of an AWS
SigV4 presigned URL: `X-Amz-Algorithm`, `X-Amz-Date`, `X-Amz-Expires`, `X-Amz-Signature`. Clients depend
on that shape: the kernel of the official Python client opens a URL over HTTP only if its query contains
`X-Amz-Signature`, and treats every other URL as a local path. The signature is specific to the gateway:
an HMAC-SHA256 over storage, date, lifetime, and path. It allows GET and HEAD, and is the only
credential.
"""

from sluicegate.protocols.file_links.links import ContentLinks, verify
from sluicegate.protocols.file_links.routes import content_routes

__all__ = ["ContentLinks", "content_routes", "verify"]
