"""The configuration by which Iceberg clients send their requests to be signed.

Source: Iceberg REST specification, "LoadTableResult". Older clients have properties that are not in it.
"""

from __future__ import annotations

from typing import Final

# A value for clients that require one. No store receives it: presigned URLs have their own region.
_REGION: Final = "us-east-1"


def signing_config(
    *, catalog_uri: str, sign_endpoint: str, store_endpoint: str, server_planning: bool
) -> dict[str, str]:
    """The `config` of a table whose files clients read through signed requests.

    Args:
        catalog_uri: The catalog's absolute `uri`.
        sign_endpoint: The path of the table's sign endpoint, relative to `catalog_uri`, without a
            leading slash.
        store_endpoint: See `sign_request.store_endpoint`.
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
        "s3.region": _REGION,
        "client.region": _REGION,
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
