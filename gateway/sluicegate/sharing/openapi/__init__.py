"""The OpenAPI document that the gateway serves, put together from small pieces.

It stands for what the routes do: a test compares both, and the fuzzer sends what it describes.
"""

from sluicegate.sharing.openapi.document import document
from sluicegate.sharing.openapi.route import openapi_route

__all__ = ["document", "openapi_route"]
