"""What recipients were offered, as executors see it. Plugins import it from `api`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IssuedAccess:
    """An entry of the ledger: a response that gave a recipient access to storage. It has no secret.

    Attributes:
        id: Id of the entry.
        given_at: Time of the response; this and all times are in epoch milliseconds.
        issued_at: When the URLs were signed or the credentials issued: earlier if they were reused.
        expires_at: When the last of them expires; `None` if they do not expire.
        kind: `urls`, `credentials`, `hadoop-token` or `iceberg-config`.
        recipient: Name at the time of the response, as are `share`, `schema` and `table`.
        asset: The kind of asset that the names are for; `None` for a table.
        locations: Directories that can be read; for URLs, the directory of the table.
        files: Number of presigned URLs so far; `None` for credentials.
        address: IP address of the recipient.
    """

    id: str
    given_at: int
    issued_at: int
    expires_at: int | None
    kind: str
    recipient_id: str
    recipient: str
    share: str
    schema: str
    table: str
    asset: str | None
    locations: tuple[str, ...]
    files: int | None
    address: str | None
    request_id: str | None
