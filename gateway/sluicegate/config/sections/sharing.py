"""What recipients get: URLs and tokens of Delta Sharing, and temporary credentials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from sluicegate._util.units import Duration
from sluicegate.config.model import SettingsModel

LONGEST_SIGNED_URL = 7 * 86_400
# The limits of the session of an assumed role on AWS. Other clouds allow at least this range.
SHORTEST_CREDENTIALS = 900
LONGEST_CREDENTIALS = 43_200


class SharingSettings(SettingsModel):
    """URLs and tokens that recipients get through Delta Sharing."""

    removed_keys: ClassVar[Mapping[str, str]] = {
        "page_token_lifetime": "one hour",
        "async_query_threshold": "2 seconds",
        "async_after": "2 seconds",
    }

    presigned_url_ttl: Duration = Field(
        default=3600,
        ge=1,
        le=LONGEST_SIGNED_URL,
        description=(
            "How long presigned URLs are valid. They expire earlier if the credentials that sign them "
            "do. Spark recipients refresh URLs 15 minutes before they expire, so use a much longer "
            "time."
        ),
    )
    refresh_token_lifetime: Duration = Field(
        default=86_400,
        ge=1,
        description="How long a refresh token is valid. Each refresh returns new URLs and a new token.",
    )
    iceberg_snapshots: int = Field(
        default=100,
        ge=1,
        le=10_000,
        description="Maximum number of snapshots in the metadata of a table that Iceberg clients read "
        "file by file, if its history is shared. The first client that loads a Delta table waits until "
        "the gateway has read that many commits.",
    )


class VendingSettings(SettingsModel):
    """Temporary credentials, and the ledger of everything issued to recipients."""

    lifetime: Duration = Field(
        default=3600,
        ge=SHORTEST_CREDENTIALS,
        le=LONGEST_CREDENTIALS,
        description=(
            "How long temporary credentials are valid, from 15 minutes to 12 hours. They expire "
            "earlier if the vendor limits them. The same recipient gets them again until half of this "
            "time has passed."
        ),
    )
    assumed_lifetime: Duration = Field(
        default=300,
        ge=60,
        le=LONGEST_CREDENTIALS,
        description=(
            "How long the gateway uses a session of a catalog that doesn't state when its sessions "
            "end, such as Nessie. URLs that it signs with the session are not valid for longer. The "
            "catalog might return sessions that it issued earlier, so use less than the shortest time "
            "for which they are still valid."
        ),
    )
    ledger_retention: Duration = Field(
        default=365 * 86_400,
        ge=86_400,
        description="How long the entries of the ledger are stored.",
    )
