"""The properties that the user of a token sets in Hadoop or Spark."""

from __future__ import annotations

from collections.abc import Mapping

from sluicegate.api.hadoop_tokens import TokenBinding

# Without a key in the configuration, this provider has no credentials. So a missing token, or one for
# another bucket, is an error instead of a use of the machine's own credentials.
_PINNED_PROVIDER = "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"


def hadoop_configuration(
    bucket: str, binding: TokenBinding, connection: Mapping[str, str]
) -> dict[str, str]:
    """Return Hadoop properties for one bucket, which don't affect other buckets.

    Args:
        bucket: The bucket.
        binding: The binding of the token.
        connection: `TemporaryCredentials.connection`.
    """
    properties = {
        "delegation.token.binding": binding.hadoop_class,
        "aws.credentials.provider": _PINNED_PROVIDER,
    }
    endpoint = connection.get("endpoint")
    if endpoint is not None:
        properties["endpoint"] = endpoint
        properties["connection.ssl.enabled"] = "false" if endpoint.startswith("http://") else "true"
    if "region" in connection:
        properties["endpoint.region"] = connection["region"]
    if "path_style" in connection:
        properties["path.style.access"] = connection["path_style"]
    return {f"fs.s3a.bucket.{bucket}.{name}": value for name, value in properties.items()}
