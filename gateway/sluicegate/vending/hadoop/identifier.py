"""Token identifiers as bytes, in both layouts.

hadoop-aws 3.5.0 added the encryption context to the identifier without a new version number. A reader
of one layout therefore misinterprets the bytes of the other, and could send parts of secrets in the
wrong fields. To prevent this, each layout encodes `created` so that readers of the other layout fail
(see `guarded_created`).
"""

from __future__ import annotations

from enum import Enum

from sluicegate.api.errors import InvalidRequest
from sluicegate.api.hadoop_tokens import (
    EncryptionSecrets,
    MarshalledCredentials,
    S3ATokenIdentifier,
)
from sluicegate.vending.hadoop.wire import Input, MalformedToken, int64, text, vint

_WHAT = "the token's identifier"
_VERSION = b"\x00"
_ENCRYPTION_SERIAL = 1208329045511296375
_LONGEST_FIELD = 8192
_LONGEST_ENCRYPTION = 2048
_CREATED = range(946_684_800_000, 7_258_118_400_000)  # from the year 2000 until 2200


class Layout(Enum):
    """The two layouts of an identifier. The value names the versions that read the layout."""

    A = "hadoop-aws 3.3.1 to 3.4"
    B = "hadoop-aws 3.5 and later"

    @classmethod
    def of_hadoop(cls, version: str) -> Layout:
        """Return the layout that a version of hadoop-aws reads: `3.4`, `3.4.2`, `3.5.0`."""
        numbers = version.split(".")
        if not 2 <= len(numbers) <= 3 or not all(
            part.isascii() and part.isdecimal() and len(part) < 5 for part in numbers
        ):
            raise InvalidRequest(
                "the Hadoop version must be that of the recipient's hadoop-aws, such as 3.4 or 3.4.2"
            )
        parsed = tuple(map(int, numbers))
        if parsed < (3, 3):
            raise InvalidRequest(
                f"hadoop-aws {version} does not read these tokens; 3.3.1 and later versions do"
            )
        return cls.A if parsed < (3, 5) else cls.B


def guarded_created(now: int, layout: Layout) -> int:
    """Encode the time of creation so that readers of the other layout reject the token.

    A reader of layout B interprets the first byte as the length of the encryption context, which is
    negative in layout A. A reader of layout A interprets the last byte as the length of the access key,
    which is 0xff (-1) in layout B.
    """
    return -now if layout is Layout.A else now | 0xFF


def encode_identifier(identifier: S3ATokenIdentifier, layout: Layout) -> bytes:
    """Encode an identifier."""
    encryption, secret = identifier.encryption, identifier.credentials
    if encryption.context and layout is Layout.A:
        raise InvalidRequest("an encryption context needs the token layout of hadoop-aws 3.5 or later")
    return b"".join(
        (
            _VERSION,
            text(identifier.owner, name="the owner"),
            text(identifier.renewer, name="the renewer"),
            text(identifier.real_user, name="the real user"),
            vint(identifier.issue_date),
            vint(identifier.max_date),
            vint(identifier.sequence_number),
            vint(identifier.master_key_id),
            _field(identifier.uri, "the bucket's URI"),
            _field(identifier.origin, "the origin"),
            _field(identifier.uuid, "the UUID"),
            int64(_ENCRYPTION_SERIAL),
            text(encryption.algorithm, _LONGEST_ENCRYPTION, name="the encryption algorithm"),
            text(encryption.key, _LONGEST_ENCRYPTION, name="the encryption key"),
            text(encryption.context, name="the encryption context") if layout is Layout.B else b"",
            int64(identifier.created),
            _field(secret.access_key, "the access key"),
            _field(secret.secret_key, "the secret key"),
            _field(secret.session_token, "the session token"),
            _field(secret.role_arn, "the role's ARN"),
            int64(secret.expiration),
        )
    )


def decode_identifier(data: bytes) -> tuple[S3ATokenIdentifier, Layout]:
    """Decode an identifier, and return it with the layout in which all of its bytes are valid.

    Hadoop does not guard `created`: one of its tokens in 256 is valid in both layouts. The wrong layout
    then moves `created` by a byte, so the time of creation identifies the right one.
    """
    readings: list[tuple[S3ATokenIdentifier, Layout]] = []
    problems: list[str] = []
    for layout in Layout:
        try:
            readings.append((_decode(Input(data, _WHAT), layout), layout))
        except MalformedToken as error:
            problems.append(error.message)
    if not readings:
        raise MalformedToken(f"{_WHAT} fits neither layout: {'; '.join(dict.fromkeys(problems))}")
    return max(readings, key=lambda reading: abs(reading[0].created) in _CREATED)


def _field(value: str, name: str) -> bytes:
    return text(value, _LONGEST_FIELD, name=name)


def _decode(data: Input, layout: Layout) -> S3ATokenIdentifier:
    if data.take(1) != _VERSION:
        data.fail("an unknown version of Hadoop's token identifiers")
    owner, renewer, real_user = data.text(), data.text(), data.text()
    issue_date, max_date = data.vlong(), data.vlong()
    sequence_number, master_key_id = data.vint(), data.vint()
    uri, origin, uuid = (data.text(_LONGEST_FIELD) for _ in range(3))
    encryption = _decode_encryption(data, layout)
    created = data.int64()
    access_key, secret_key, session_token, role_arn = (data.text(_LONGEST_FIELD) for _ in range(4))
    credentials = MarshalledCredentials(access_key, secret_key, session_token, role_arn, data.int64())
    data.end()
    return S3ATokenIdentifier(
        uri=uri,
        owner=owner,
        credentials=credentials,
        encryption=encryption,
        renewer=renewer,
        real_user=real_user,
        issue_date=issue_date,
        max_date=max_date,
        sequence_number=sequence_number,
        master_key_id=master_key_id,
        origin=origin,
        uuid=uuid,
        created=created,
    )


def _decode_encryption(data: Input, layout: Layout) -> EncryptionSecrets:
    if data.int64() != _ENCRYPTION_SERIAL:
        data.fail("an unknown version of S3A's encryption secrets")
    algorithm, key = data.text(_LONGEST_ENCRYPTION), data.text(_LONGEST_ENCRYPTION)
    return EncryptionSecrets(algorithm, key, data.text() if layout is Layout.B else "")
