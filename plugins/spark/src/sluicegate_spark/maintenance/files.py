"""Credentials of a table's files, as Iceberg's file IO and Hadoop's file systems spell them.

Sources: Iceberg's documentation, properties of its AWS, Azure and Google modules; Hadoop's
documentation, "Authenticating with S3" and "ABFS: Shared Access Signature (SAS) token".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sluicegate.api import SecretStr, TemporaryCredentials, UnsupportedOperation

Spelled = Mapping[str, str | SecretStr]

_REGION: Final = "us-east-1"  # stores with an endpoint of their own take any
_S3A: Final = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_S3_SCHEMES: Final = ("s3", "s3a", "s3n")
_PROVIDERS: Final = "org.apache.hadoop.fs.s3a."


def for_iceberg(credentials: TemporaryCredentials) -> Spelled:
    """Properties of an Iceberg catalog."""
    return _ICEBERG[credentials.kind](credentials)


def for_hadoop(credentials: TemporaryCredentials) -> Spelled:
    """Settings of a session, for the file systems that it opens.

    File systems are kept by their address alone, so that another task's would open this one's files;
    here each is a new one.

    Raises:
        UnsupportedOperation: Hadoop takes no such credentials as settings.
    """
    spell = _HADOOP.get(credentials.kind)
    if spell is None:
        raise UnsupportedOperation(
            "Spark's connector of Google's storage takes no token as a setting: give Spark credentials "
            "of its own, in the executor's `conf`"
        )
    return spell(credentials)


def hadoop_location(location: str) -> str:
    """A directory as Hadoop's connectors name it."""
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
        # Stores that are not Amazon's may keep the encoding of a transfer for that of the file.
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
    found: dict[str, str | SecretStr] = {
        "fs.s3a.access.key": SecretStr(secret["access_key_id"]),
        "fs.s3a.secret.key": SecretStr(secret["secret_access_key"]),
        "fs.s3a.aws.credentials.provider": f"{_PROVIDERS}{provider}",
        # Logs may name files as s3://.
        "fs.s3.impl": _S3A,
        **{f"fs.{scheme}.impl.disable.cache": "true" for scheme in _S3_SCHEMES},
    }
    if token:
        found["fs.s3a.session.token"] = SecretStr(token)
    if endpoint := known.get("endpoint"):
        found["fs.s3a.endpoint"] = endpoint
        found["fs.s3a.connection.ssl.enabled"] = str(endpoint.startswith("https:")).lower()
    if region := known.get("region"):
        found["fs.s3a.endpoint.region"] = region
    if style := known.get("path_style"):
        found["fs.s3a.path.style.access"] = style
    return found


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
    """The storage account's name, and its host for directories."""
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
