"""Made-up delegation tokens."""

from __future__ import annotations

from dataclasses import replace

from sluicegate.api.hadoop_tokens import (
    BUILT_IN_KINDS,
    EncryptionSecrets,
    MarshalledCredentials,
    S3ATokenIdentifier,
)
from sluicegate.vending.hadoop.identifier import Layout, encode_identifier, guarded_created
from sluicegate.vending.hadoop.token import HadoopToken

KINDS = tuple(BUILT_IN_KINDS.values())
NOW = 1_700_000_000_123
EXPIRES = NOW + 3_600_000
SECRET_KEY, SESSION_TOKEN = "a secret key of forty characters, as ever", "a session's token " * 20
CREDENTIALS = MarshalledCredentials(
    "ASIAEXAMPLEKEY000001",
    SECRET_KEY,
    SESSION_TOKEN,
    "arn:aws:iam::000000000000:role/LakeReader",
    EXPIRES,
)
IDENTIFIER = S3ATokenIdentifier(
    uri="s3a://lake",
    owner="acme",
    credentials=CREDENTIALS,
    encryption=EncryptionSecrets("SSE-KMS", "arn:aws:kms:eu-west-1:000000000000:key/one"),
    renewer="yarn",
    issue_date=NOW,
    max_date=EXPIRES,
    origin="sluicegate for lake.sales.orders",
    uuid="6f9619ff-8b86-8011-b42d-00cf4fc964ff",
)


def made_up_token(kind: str, layout: Layout, bucket: str = "lake") -> HadoopToken:
    """A token that nobody issued."""
    service = f"s3a://{bucket}"
    identifier = replace(IDENTIFIER, uri=service, created=guarded_created(NOW, layout))
    return HadoopToken(encode_identifier(identifier, layout), kind, service)
