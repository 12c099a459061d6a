"""Formats temporary credentials for Iceberg, as properties for the `FileIO` of every engine.

Source: credentials refresh proposal, "JSON representation", and Iceberg's own property names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sluicegate.api.vending import TemporaryCredentials

_ADLS_HOST = "dfs.core.windows.net"
_S3_CONNECTION = {
    "client.region": "region",  # Java's name for it
    "s3.region": "region",
    "s3.endpoint": "endpoint",
    "s3.path-style-access": "path_style",
}
_S3_REFRESH = {"client.refresh-credentials-endpoint": "{}"}
_REFRESH: Mapping[str, Mapping[str, str]] = {
    "aws": _S3_REFRESH,
    "r2": _S3_REFRESH,
    "azure": {"adls.refresh-credentials-endpoint": "{}"},
    "gcp": {
        "gcs.oauth2.refresh-credentials-endpoint": "{}",
        "gcs.oauth2.refresh-credentials-enabled": "true",
    },
}


def iceberg_config(credentials: TemporaryCredentials) -> dict[str, str]:
    """The `config` of a storage credential.

    All values are strings, and times are epoch milliseconds.
    """
    return _SPELLINGS[credentials.kind](credentials)


def refresh_config(credentials: TemporaryCredentials, endpoint: str) -> dict[str, str]:
    """Properties with which engines refresh credentials; empty if these do not expire."""
    if credentials.expires_at is None:
        return {}
    return {key: value.format(endpoint) for key, value in _REFRESH[credentials.kind].items()}


def _s3(credentials: TemporaryCredentials) -> dict[str, str]:
    secret = credentials.secret
    config = {
        "s3.access-key-id": secret["access_key_id"],
        "s3.secret-access-key": secret["secret_access_key"],
    }
    if "session_token" in secret:
        config["s3.session-token"] = secret["session_token"]
    known = credentials.connection
    config |= {key: known[name] for key, name in _S3_CONNECTION.items() if name in known}
    return config | _expiry("s3.session-token-expires-at-ms", credentials)


def _adls(credentials: TemporaryCredentials) -> dict[str, str]:
    account = credentials.connection["account"]
    config: dict[str, str] = {}
    # Java engines look the account up by its host, older ones and PyIceberg by its name.
    for name in (f"{account}.{_ADLS_HOST}", account):
        config[f"adls.sas-token.{name}"] = credentials.secret["sas_token"]
        config |= _expiry(f"adls.sas-token-expires-at-ms.{name}", credentials)
    return config


def _gcs(credentials: TemporaryCredentials) -> dict[str, str]:
    config = {"gcs.oauth2.token": credentials.secret["oauth_token"]}
    return config | _expiry("gcs.oauth2.token-expires-at", credentials)


def _expiry(key: str, credentials: TemporaryCredentials) -> dict[str, str]:
    return {} if credentials.expires_at is None else {key: str(credentials.expires_at)}


_SPELLINGS: Mapping[str, Callable[[TemporaryCredentials], dict[str, str]]] = {
    "aws": _s3,
    "r2": _s3,
    "azure": _adls,
    "gcp": _gcs,
}
