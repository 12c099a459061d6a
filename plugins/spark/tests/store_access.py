"""Access to objects, as for tasks on Spark."""

from __future__ import annotations

from sluicegate.api import RealmGrant, TemporaryCredentials, comparable_location
from sluicegate_spark.granted_locations import GrantedLocations
from sluicegate_spark.objects import ObjectAccess
from sluicegate_testing.servers.seaweedfs import Identity, SeaweedFS


def access_of(
    server: SeaweedFS,
    *locations: str,
    identity: Identity | None = None,
    endpoint: str | None = None,
) -> ObjectAccess:
    """Return access to a store."""
    who = identity or server.admin
    secret = {"access_key_id": who.access_key_id, "secret_access_key": who.secret_access_key}
    connection = {
        "endpoint": endpoint or server.endpoint,
        "region": server.region,
        "path_style": "true",
    }
    credentials = TemporaryCredentials(f"s3://{server.bucket}", "aws", secret, None, connection)
    grant = RealmGrant(
        locations=tuple(map(comparable_location, locations or (f"s3://{server.bucket}",)))
    )
    return ObjectAccess(credentials, GrantedLocations("prod", grant, of_catalog=True))
