"""Opens a table's objects with its credentials, in the worker and on the cluster's machines.

Stores get their credentials from a function. Otherwise, obstore adds missing parts from the
environment: a session token to S3 keys, or the machine's account key instead of a signature.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from sluicegate.api import (
    ObjectDirectory,
    TemporaryCredentials,
    UnsupportedOperation,
    client_options,
    retry_config,
)
from sluicegate_spark.granted_locations import GrantedLocations

if TYPE_CHECKING:
    from obstore.store import AzureCredential, GCSCredential, ObjectStore, S3Config, S3Credential

_AZURE_HOST = "blob.core.windows.net"
_REGION = "us-east-1"
# Locations come from a table's files, and these parts become parts of host names. Characters that end
# a host name are therefore not allowed.
_BUCKET = re.compile(r"[A-Za-z0-9$][A-Za-z0-9._-]{0,254}")
_ACCOUNT = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}")
# A loaded store needs more than a few seconds to delete 1,000 objects. This is shorter than a wave.
_SILENCE = timedelta(seconds=20)


@dataclass(frozen=True, slots=True)
class ObjectAccess:
    """Opens objects by location. Can be sent to other machines; its `repr` contains no secrets."""

    credentials: TemporaryCredentials
    granted: GrantedLocations

    @property
    def has_expired(self) -> bool:
        """Return whether the credentials have expired."""
        expires_at = self.credentials.expires_at
        return expires_at is not None and expires_at <= time.time() * 1000

    def open(self, location: str) -> tuple[ObjectStore, str]:
        """Return the store of a location's bucket, and the object's key."""
        self.granted.check([location])
        return self._open(location)

    def directory(self, location: str) -> ObjectDirectory:
        """Return a directory for reading and writing."""
        store, prefix = self.open(location)
        return ObjectDirectory(store, prefix.strip("/"))

    def bucket(self, location: str) -> ObjectStore:
        """Return the store of a bucket.

        The caller must check each key: `granted` is not applied here.
        """
        return self._open(location)[0]

    def _open(self, location: str) -> tuple[ObjectStore, str]:
        scheme, _, rest = location.partition("://")
        authority, _, key = rest.partition("/")
        return _store(self._frozen(), scheme, authority), key

    def _frozen(self) -> _Frozen:
        given = self.credentials
        return _Frozen(
            given.kind, *(tuple(sorted(each.items())) for each in (given.secret, given.connection))
        )


@dataclass(frozen=True, slots=True)
class _Frozen:
    """Credentials as a cache key."""

    kind: str
    secret: tuple[tuple[str, str], ...]
    connection: tuple[tuple[str, str], ...]


@lru_cache(maxsize=64)
def _store(credentials: _Frozen, scheme: str, authority: str) -> ObjectStore:
    """Return a cached store. A store reuses connections, so that one machine opens few."""
    make = _MAKERS.get(credentials.kind)
    if make is None:
        raise UnsupportedOperation(f"tasks do not support tables of '{scheme}://'")
    if scheme.lower() not in _SCHEMES[credentials.kind]:
        raise UnsupportedOperation(f"the table's credentials do not cover '{scheme}://'")
    if not _BUCKET.fullmatch(authority.partition("@")[0] if make is _azure else authority):
        raise UnsupportedOperation(f"'{authority[:255]}' is not the name of a bucket")
    return make(authority, dict(credentials.secret), dict(credentials.connection))


def _s3(bucket: str, secret: Mapping[str, str], connection: Mapping[str, str]) -> ObjectStore:
    from obstore.store import S3Store

    virtual = connection.get("path_style") != "true"
    endpoint = (
        connection.get("endpoint") or f"https://s3.{connection.get('region', _REGION)}.amazonaws.com"
    )
    scheme, _, host = endpoint.partition("://")
    origin = f"{scheme}://{bucket}.{host}" if virtual else endpoint
    config: S3Config = {
        "endpoint": origin,
        "aws_endpoint_url_s3": origin,
        "region": connection.get("region", _REGION),
        "virtual_hosted_style_request": virtual,
        "skip_signature": False,
    }
    credential: S3Credential = {
        "access_key_id": secret["access_key_id"],
        "secret_access_key": secret["secret_access_key"],
        "token": secret.get("session_token"),
        "expires_at": None,
    }
    return S3Store(
        bucket,
        config=config,
        credential_provider=lambda: credential,
        client_options=client_options(origin, silence=_SILENCE),
        retry_config=retry_config(),
    )


def _azure(authority: str, secret: Mapping[str, str], connection: Mapping[str, str]) -> ObjectStore:
    from obstore.store import AzureStore

    container, _, host = authority.partition("@")
    account = connection.get("account") or host.partition(".")[0]
    if not _ACCOUNT.fullmatch(account):
        raise UnsupportedOperation(f"'{account[:63]}' is not the name of a storage account")
    endpoint = connection.get("endpoint", f"https://{account}.{_AZURE_HOST}")
    credential: AzureCredential = {"sas_token": secret["sas_token"], "expires_at": None}
    return AzureStore(
        container,
        account_name=account,
        credential_provider=lambda: credential,
        endpoint=endpoint,
        use_emulator=False,
        skip_signature=False,
        client_options=client_options(endpoint, silence=_SILENCE),
        retry_config=retry_config(),
    )


def _gcs(bucket: str, secret: Mapping[str, str], connection: Mapping[str, str]) -> ObjectStore:
    from obstore.store import GCSStore

    endpoint = connection.get("endpoint", "https://storage.googleapis.com")
    credential: GCSCredential = {"token": secret["oauth_token"], "expires_at": None}
    return GCSStore(
        bucket,
        base_url=endpoint,
        skip_signature=False,
        client_options=client_options(endpoint, silence=_SILENCE),
        retry_config=retry_config(),
        credential_provider=lambda: credential,
    )


_SCHEMES = {
    "aws": ("s3", "s3a", "s3n"),
    "azure": ("abfs", "abfss", "wasb", "wasbs"),
    "gcp": ("gs", "gcs"),
}
_MAKERS: Mapping[str, Callable[[str, Mapping[str, str], Mapping[str, str]], ObjectStore]] = {
    "aws": _s3,
    "azure": _azure,
    "gcp": _gcs,
}
