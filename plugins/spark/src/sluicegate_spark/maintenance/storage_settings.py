"""Translates credentials for a table's files to settings of Iceberg's file IO and Hadoop.

Sources: Iceberg documentation, properties of its AWS, Azure and Google modules; Hadoop documentation,
"Authenticating with S3" and "ABFS: Shared Access Signature (SAS) token".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sluicegate.api import SecretStr, TemporaryCredentials, UnsupportedOperation

Spelled = Mapping[str, str | SecretStr]

_REGION: Final = "us-east-1"  # stores with a custom endpoint accept any region
_S3A: Final = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_S3_SCHEMES: Final = ("s3", "s3a", "s3n")
_PROVIDERS: Final = "org.apache.hadoop.fs.s3a."
# Hadoop queries these providers before it looks for keys. The list can't be empty, and this provider
# returns nothing.
_NO_PROVIDER: Final = "user:///"
_NOTHING_ELSE: Final = {
    "security.credential.provider.path": _NO_PROVIDER,
    "delegation.token.binding": "",
}
_CLOSED_FOR_HADOOP: Final[Spelled] = {
    "fs.s3a.aws.credentials.provider": f"{_PROVIDERS}AnonymousAWSCredentialsProvider",
    "fs.azure.account.auth.type": "SAS",  # without a signature
    "fs.gs.auth.type": "UNAUTHENTICATED",
    "hadoop.security.credential.provider.path": _NO_PROVIDER,
}
_KINDS: Final = {"r2": "aws"}
# By kind of credentials. Each of these overrides a key or token, or is incompatible with one.
_CLOSED_FOR_ICEBERG: Final[Mapping[str, Spelled]] = {
    "aws": {
        "client.credentials-provider": (
            "software.amazon.awssdk.auth.credentials.AnonymousCredentialsProvider"
        )
    },
    "azure": {
        "adls.auth.shared-key.account.name": "none",
        "adls.auth.shared-key.account.key": SecretStr("bm9uZQ=="),
    },
    "gcp": {"gcs.no-auth": "true"},
}


def for_iceberg(credentials: TemporaryCredentials) -> Spelled:
    """Return properties of an Iceberg catalog that allow no access to other clouds.

    Otherwise, Iceberg would use the machine's own credentials for them.
    """
    found: dict[str, str | SecretStr] = {}
    for kind, closed in _CLOSED_FOR_ICEBERG.items():
        found |= {} if kind == _KINDS.get(credentials.kind, credentials.kind) else closed
    return {**found, **_ICEBERG[credentials.kind](credentials)}


def closed_for_hadoop() -> Spelled:
    """Return settings that prevent use of credentials of the machine or of Spark.

    Apply the settings of `for_hadoop` after them.
    """
    return _CLOSED_FOR_HADOOP


def for_hadoop(credentials: TemporaryCredentials) -> Spelled:
    """Return settings for the Hadoop file systems of a session.

    Hadoop caches file systems by address alone, so that another task's instance would open this
    task's files. These settings disable the cache.
    """
    spell = _HADOOP.get(credentials.kind)
    if spell is None:
        raise UnsupportedOperation(
            "Spark's connector for Google Cloud Storage does not accept a token as a setting, so "
            "tasks cannot change Delta tables there"
        )
    return spell(credentials)


def hadoop_location(location: str) -> str:
    """Return a directory's location in the form that Hadoop's connectors use."""
    scheme, separator, rest = location.partition("://")
    return f"s3a://{rest}" if scheme in _S3_SCHEMES else f"{scheme}{separator}{rest}"


def _iceberg_s3(credentials: TemporaryCredentials) -> Spelled:
    known, secret = credentials.connection, credentials.secret
    found: dict[str, str | SecretStr] = {
        "s3.access-key-id": SecretStr(secret["access_key_id"]),
        "s3.secret-access-key": SecretStr(secret["secret_access_key"]),
    }
    if token := secret.get("session_token"):
        found["s3.session-token"] = SecretStr(token)
    if region := known.get("region"):
        found["client.region"] = region
    if endpoint := known.get("endpoint"):
        found.setdefault("client.region", _REGION)
        found["s3.endpoint"] = endpoint
        # Stores other than Amazon's might store the transfer encoding as the file's encoding.
        found["s3.chunked-encoding-enabled"] = "false"
    if style := known.get("path_style"):
        found["s3.path-style-access"] = style
    return found


def _iceberg_azure(credentials: TemporaryCredentials) -> Spelled:
    account, host = _azure_account(credentials)
    token = SecretStr(credentials.secret["sas_token"])
    return {f"adls.sas-token.{account}": token, f"adls.sas-token.{host}": token}


def _iceberg_gcs(credentials: TemporaryCredentials) -> Spelled:
    found: dict[str, str | SecretStr] = {
        "gcs.oauth2.token": SecretStr(credentials.secret["oauth_token"])
    }
    if credentials.expires_at is not None:
        found["gcs.oauth2.token-expires-at"] = str(credentials.expires_at)
    return found


def _hadoop_s3(credentials: TemporaryCredentials) -> Spelled:
    known, secret = credentials.connection, credentials.secret
    token = secret.get("session_token")
    provider = "TemporaryAWSCredentialsProvider" if token else "SimpleAWSCredentialsProvider"
    own: dict[str, str | SecretStr] = {
        "access.key": SecretStr(secret["access_key_id"]),
        "secret.key": SecretStr(secret["secret_access_key"]),
        "session.token": SecretStr(token or ""),
        "aws.credentials.provider": f"{_PROVIDERS}{provider}",
        **_NOTHING_ELSE,
    }
    if endpoint := known.get("endpoint"):
        own["endpoint"] = endpoint
        own["connection.ssl.enabled"] = str(endpoint.startswith("https:")).lower()
    if region := known.get("region"):
        own["endpoint.region"] = region
    if style := known.get("path_style"):
        own["path.style.access"] = style
    # Settings of a bucket override general ones, and Spark's configuration might contain general
    # ones.
    bucket = credentials.location.partition("://")[2].partition("/")[0]
    return {
        # Logs might name files as s3://.
        "fs.s3.impl": _S3A,
        **{f"fs.{scheme}.impl.disable.cache": "true" for scheme in _S3_SCHEMES},
        **{f"fs.s3a.{name}": value for name, value in own.items()},
        **{f"fs.s3a.bucket.{bucket}.{name}": value for name, value in own.items()},
    }


def _hadoop_azure(credentials: TemporaryCredentials) -> Spelled:
    _, host = _azure_account(credentials)
    return {
        f"fs.azure.account.auth.type.{host}": "SAS",
        f"fs.azure.sas.fixed.token.{host}": SecretStr(
            credentials.secret["sas_token"].removeprefix("?")
        ),
        "fs.abfs.impl.disable.cache": "true",
        "fs.abfss.impl.disable.cache": "true",
    }


def _azure_account(credentials: TemporaryCredentials) -> tuple[str, str]:
    """Return the storage account's name, and its host for directories."""
    authority = credentials.location.partition("://")[2].partition("/")[0]
    host = authority.partition("@")[2].replace(".blob.", ".dfs.")
    return credentials.connection.get("account") or host.partition(".")[0], host


_Spelling = Callable[[TemporaryCredentials], Spelled]
_ICEBERG: Final[Mapping[str, _Spelling]] = {
    "aws": _iceberg_s3,
    "r2": _iceberg_s3,
    "azure": _iceberg_azure,
    "gcp": _iceberg_gcs,
}
_HADOOP: Final[Mapping[str, _Spelling]] = {"aws": _hadoop_s3, "r2": _hadoop_s3, "azure": _hadoop_azure}
