"""Routes of the bare server that answer requests to sign: with a constant, and as a catalog does.

Catalogs whose tables are in one S3 store sign the headers of the request that a client wants to send.
The second route does so with botocore, without authentication, grants, and a table to look up.
"""

from __future__ import annotations

from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

CONSTANT = "/sign"
HEADERS = "/sign-headers"
_URI = "https://lake.s3.eu-west-1.amazonaws.com/" + "x" * 450  # as long as a presigned URL
_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"  # noqa: S105 - AWS's own example


def signing_routes() -> list[Route]:
    """Both routes."""
    return [
        Route(CONSTANT, _constant, methods=["POST"]),
        Route(HEADERS, _signed_headers, methods=["POST"]),
    ]


async def _constant(request: Request) -> JSONResponse:
    orjson.loads(await request.body())
    return JSONResponse({"uri": _URI, "headers": {}})


async def _signed_headers(request: Request) -> JSONResponse:
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    asked = orjson.loads(await request.body())
    headers = {name: values[0] for name, values in asked["headers"].items()}
    signed: Any = AWSRequest(method=asked["method"], url=asked["uri"], headers=headers)
    signed.context["payload_signing_enabled"] = False
    signer: Any = S3SigV4Auth(Credentials("AKIAIOSFODNN7EXAMPLE", _SECRET), "s3", asked["region"])
    signer.add_auth(signed)
    answered = {name: [value] for name, value in signed.headers.items()}
    return JSONResponse({"uri": asked["uri"], "headers": answered})
