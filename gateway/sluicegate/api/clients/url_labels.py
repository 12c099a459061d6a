"""Labels of presigned URLs, by which access logs name the response that contained a URL."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from uuid import UUID

LABEL_PARAMETER = "x-offer"
"""The query parameter for a label. S3 ignores and logs parameters whose names begin with `x-`."""

_LENGTH = 22


def url_label(entry_id: str) -> str:
    """The label of the URLs of a ledger entry: 22 characters that URLs contain unchanged.

    Args:
        entry_id: The entry's id, a UUID.
    """
    return urlsafe_b64encode(UUID(entry_id).bytes).rstrip(b"=").decode()


def labelled_entry(label: str) -> str | None:
    """The id of the ledger entry that a label names; `None` if it is not a label."""
    if len(label) != _LENGTH:
        return None
    try:
        found = str(UUID(bytes=urlsafe_b64decode(f"{label}==")))
    except (Error, ValueError):
        return None
    # Decoding ignores foreign characters and the last bits.
    return found if url_label(found) == label else None
