"""Serves bytes by signed link where a store cannot presign: local files, for example.

A link is `{public_url}/content/{storage}/{percent-encoded path}` with the query parameters of an AWS
SigV4 presigned URL: `X-Amz-Algorithm`, `X-Amz-Date`, `X-Amz-Expires`, `X-Amz-Signature`. Clients depend
on that shape: the kernel of the official Python client opens a URL over HTTP only if its query holds
`X-Amz-Signature`, and takes every other one for a local path. The signature is the gateway's own: an
HMAC-SHA256 over storage, date, lifetime and path. It allows GET and HEAD, and is the only credential.
"""

from sluicegate.content.links import ContentLinks, verify
from sluicegate.content.routes import content_routes

__all__ = ["ContentLinks", "content_routes", "verify"]
