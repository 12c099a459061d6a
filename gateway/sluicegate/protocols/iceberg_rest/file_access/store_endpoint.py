"""What Iceberg clients get to know of the address that they take for an object store."""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import escape

from starlette.responses import Response

from sluicegate.http.responses import NOT_STORED

# A value for clients that require one. No store receives it: presigned URLs have their own region.
REGION: Final = "us-east-1"


def signing_config(
    *, catalog_uri: str, sign_endpoint: str, store_endpoint: str, server_planning: bool
) -> dict[str, str]:
    """The `config` of a table whose files clients read through signed requests.

    Args:
        server_planning: Whether clients must let the gateway plan scans. Otherwise, clients that do not
            plan on the server read the manifests that the gateway generates.
    """
    config = {
        **_of_stores(store_endpoint),
        **_of_java(catalog_uri, sign_endpoint),
        **_of_pyiceberg(catalog_uri, sign_endpoint),
    }
    return config | {"scan-planning-mode": "server"} if server_planning else config


def _of_stores(store_endpoint: str) -> dict[str, str]:
    return {
        "s3.endpoint": store_endpoint,
        "s3.path-style-access": "true",
        "s3.region": REGION,
        "client.region": REGION,
    }


def _of_java(catalog_uri: str, sign_endpoint: str) -> dict[str, str]:
    """Java. From 1.11 on, it finds the endpoint by `signer.*`, or without any setting."""
    return {
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.remote-signing-enabled": "true",
        "signer.uri": catalog_uri,
        "signer.endpoint": sign_endpoint,
    }


def _of_pyiceberg(catalog_uri: str, sign_endpoint: str) -> dict[str, str]:
    """PyIceberg, which signs with s3fs only. Older versions of Java have the same `s3.signer.*`."""
    return {
        "py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO",
        "s3.signer": "S3V4RestSigner",
        "s3.signer.uri": catalog_uri,
        "s3.signer.endpoint": sign_endpoint,
    }


REFUSED: Final = "InvalidRequest"
"""The code of a file that cannot be made, which clients do not request again."""

XML: Final = "application/xml"


def error_document(code: str, message: str) -> str:
    """An error in the format of S3 (Amazon S3 API reference, "Error responses")."""
    return f"<Error><Code>{escape(code)}</Code><Message>{escape(message)}</Message></Error>"


def store_error(code: str, message: str, status: int, method: str = "GET") -> Response:
    """An error with a message for users.

    Clients look up the size of a file before they read it. A response to HEAD has no body, and its
    reader would not show why the file cannot be read. It is therefore the size of the message, which
    the client then reads instead of the file.
    """
    body = error_document(code, message).encode()
    if method == "HEAD":
        headers = {**NOT_STORED, "Accept-Ranges": "bytes", "Content-Length": str(len(body))}
        return Response(headers=headers, media_type=XML)
    return Response(body, status, headers=NOT_STORED, media_type=XML)


LISTING: Final = "~listing"
"""The key that stands for a listing, which clients request if a file does not exist."""

MISSING_FILE: Final = (
    "a file of the table does not exist in its storage: load the table again, and if the file is still "
    "missing, the table's provider must restore it (files of a shared table cannot be listed)"
)
"""The message of a file that the table names and its storage doesn't have."""
