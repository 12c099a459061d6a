"""Permissions on a test server: identities, the roles of readers and of the catalog, and STS."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

IDENTITIES_FILE = "s3.json"
ROLES_FILE = "iam.json"
ROLE_ARN = "arn:aws:iam::000000000000:role/LakeReader"
VENDING_ROLE_ARN = "arn:aws:iam::000000000000:role/CatalogVend"


@dataclass(frozen=True)
class Identity:
    """A user of the test server, and its static key."""

    name: str
    access_key_id: str = field(repr=False)
    secret_access_key: str = field(repr=False)

    @classmethod
    def invent(cls, name: str) -> Identity:
        """Create a user with a random key in the format of AWS."""
        return cls(name, f"AKIA{secrets.token_hex(8).upper()}", secrets.token_hex(20))


def write(
    directory: Path,
    identities: Sequence[Identity],
    bucket: str,
    session_seconds: int | None,
    warehouse: str | None = None,
) -> None:
    """Write the server's two configuration files.

    The identities are the admin, the signer, which can assume the role, and one without permissions.
    The signer and the role read the bucket. The role of the Iceberg catalog writes the warehouse, too.
    """
    (directory / IDENTITIES_FILE).write_text(json.dumps(_identities(identities)))
    roles = _roles(bucket, session_seconds)
    if warehouse is not None:
        _add_vending(roles, warehouse)
    (directory / ROLES_FILE).write_text(json.dumps(roles))


def _identities(identities: Sequence[Identity]) -> dict[str, Any]:
    rights: tuple[dict[str, Any], ...] = (
        {"actions": ["Admin"]},
        {"actions": [], "policyNames": ["LakeReadOnly", "AllowAssumeReader"]},
        {"actions": ["Read:elsewhere"]},
    )
    return {
        "identities": [
            {
                "name": who.name,
                "credentials": [{"accessKey": who.access_key_id, "secretKey": who.secret_access_key}],
                **allowed,
            }
            for who, allowed in zip(identities, rights, strict=True)
        ]
    }


def _roles(bucket: str, session_seconds: int | None) -> dict[str, Any]:
    longest = "12h" if session_seconds is None else f"{session_seconds}s"
    return {
        "sts": {
            "tokenDuration": longest if session_seconds else "1h",
            "maxSessionLength": longest,
            "issuer": "seaweedfs-sts",
            "signingKey": base64.b64encode(secrets.token_bytes(32)).decode(),
        },
        "policy": {"defaultEffect": "Deny", "storeType": "memory"},
        "roleStore": {"storeType": "memory"},
        "policies": [
            _policy(
                "LakeReadOnly",
                ["s3:GetObject", "s3:ListBucket", "s3:GetBucketLocation"],
                [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"],
            ),
            _policy("AllowAssumeReader", ["sts:AssumeRole"], [ROLE_ARN]),
        ],
        "roles": [
            {
                "roleName": ROLE_ARN.rpartition("/")[2],
                "roleArn": ROLE_ARN,
                "trustPolicy": _document(
                    {
                        "Effect": "Allow",
                        "Principal": {"AWS": ["arn:aws:iam::000000000000:user/signer"]},
                        "Action": ["sts:AssumeRole"],
                    }
                ),
                "attachedPolicies": ["LakeReadOnly"],
            }
        ],
    }


def _add_vending(roles: dict[str, Any], warehouse: str) -> None:
    """Add the role that the catalog limits to one table for each client."""
    resources = [f"arn:aws:s3:::{warehouse}", f"arn:aws:s3:::{warehouse}/*"]
    roles["policies"].append(_policy("Warehouse", ["s3:*"], resources))
    trust = {
        "Effect": "Allow",
        "Principal": {"Federated": "iceberg-catalog"},
        "Action": ["sts:AssumeRoleWithWebIdentity", "sts:AssumeRoleWithCredentials", "sts:AssumeRole"],
    }
    roles["roles"].append(
        {
            "roleName": VENDING_ROLE_ARN.rpartition("/")[2],
            "roleArn": VENDING_ROLE_ARN,
            "trustPolicy": _document(trust),
            "attachedPolicies": ["Warehouse"],
        }
    )


def _policy(name: str, actions: list[str], resources: list[str]) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Action": actions, "Resource": resources}
    return {"name": name, "document": _document(statement)}


def _document(statement: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": [statement]}
