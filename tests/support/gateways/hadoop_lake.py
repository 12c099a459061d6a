"""A gateway whose recipients get delegation tokens for tables in a real S3 store."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from support.gateways.gateway import (
    RunningGateway,
    completed_here,
    running_gateway,
    write_configuration,
)

from sluicegate.vending.hadoop.identifier import decode_identifier
from sluicegate.vending.hadoop.token import from_url
from sluicegate_testing.secrets import keep_secret, keep_written
from sluicegate_testing.servers.seaweedfs import SeaweedFS

SHARE, SCHEMA = "lake", "sales"
# Of whom each may have which tokens.
RECIPIENTS: Mapping[str, Mapping[str, str]] = {
    "acme": {},
    "rival": {},
    "machine": {},
    "trusted": {"hadoop_token_bindings": "session, role, full"},
}


@dataclass(frozen=True)
class HadoopLake:
    """The gateway, and the profiles of its recipients."""

    gateway: RunningGateway
    profiles: Mapping[str, Path]

    def ask(
        self, table: str, *, recipient: str = "acme", accept: str = "*/*", **body: Any
    ) -> httpx.Response:
        """The answer to a request for a token."""
        profile = json.loads(self.profiles[recipient].read_text())
        answer = httpx.post(
            f"{profile['endpoint']}/shares/{SHARE}/schemas/{SCHEMA}/tables/{table}"
            "/hadoop-delegation-token",
            json=body,
            headers={"Authorization": f"Bearer {profile['bearerToken']}", "Accept": accept},
            timeout=60,
        )
        if answer.is_error:
            keep_written("errors", answer.content)
        else:
            _keep_tokens(answer)
        return answer

    def command(self, *arguments: str, recipient: str = "acme") -> subprocess.CompletedProcess[str]:
        """`sluicegate hadoop-token` as a recipient runs it: away from the gateway's configuration."""
        profile = self.profiles[recipient]
        return completed_here(profile.parent, "hadoop-token", "--profile", str(profile), *arguments)


def _keep_tokens(answer: httpx.Response) -> None:
    if answer.headers["content-type"].startswith("application/json"):
        for given in answer.json()["tokens"]:
            identifier, _ = decode_identifier(from_url(given["token"]).identifier)
            secret = identifier.credentials
            keep_secret(given["token"], secret.secret_key, secret.session_token)


@contextmanager
def hadoop_lake(
    folder: Path, storage: Sequence[Mapping[str, Any]], tables: Mapping[str, Mapping[str, Any]]
) -> Iterator[HadoopLake]:
    """Share tables of S3 storage by directory access, until the block ends."""
    entry = {"catalog": "raw", "history": True, "access_modes": ["url", "dir"]}
    entries = {name: {**entry, **options} for name, options in tables.items()}
    write_configuration(
        folder,
        {"catalogs": {"raw": {"type": "paths"}}, "storage": list(storage)},
        {
            "shares": {SHARE: {"schemas": {SCHEMA: {"tables": entries}}}},
            "recipients": {
                name: {"shares": [SHARE], "properties": properties}
                for name, properties in RECIPIENTS.items()
            },
        },
    )
    with running_gateway(folder) as gateway:
        yield HadoopLake(gateway, {name: gateway.profile(name) for name in RECIPIENTS})


def vending_storage(server: SeaweedFS, bucket: str | None = None, **vending: Any) -> dict[str, Any]:
    """The section of a bucket whose storage vends sessions of the server's role."""
    return {
        "type": "s3",
        "prefix": f"s3://{bucket or server.bucket}/",
        "endpoint": server.endpoint,
        "access_key_id": server.signer.access_key_id,
        "secret_access_key": server.signer.secret_access_key,
        "sts_endpoint": server.endpoint,
        "vending": {"role_arn": server.role_arn, **vending},
    }
