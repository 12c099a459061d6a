"""The OpenAPI document that the gateway serves, assembled from small pieces.

It describes the routes: a test compares both, and the fuzzer sends requests that it describes.
"""

from sluicegate.protocols.openapi.document import document
from sluicegate.protocols.openapi.route import openapi_route

__all__ = ["document", "openapi_route"]
