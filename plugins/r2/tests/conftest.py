from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import pytest_asyncio

from sluicegate_r2.config import R2Config
from sluicegate_r2.storage import R2Storage
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.leaks import no_secret_leaks
from sluicegate_testing.servers.seaweedfs import SeaweedFS

__all__ = ["no_secret_leaks"]

ACCOUNT = "0123456789abcdef0123456789abcdef"
API_TOKEN = "cloudflare-token"


@dataclass
class CloudflareApi:
    """A stand-in for Cloudflare's API, whose credentials are sessions of a real store.

    It records requests. The store's own policies limit the sessions to the prefixes, which doesn't
    show that Cloudflare does the same. The first `busy` responses have status 503.
    """

    store: SeaweedFS
    endpoint: str = ""
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    answer: tuple[int, Any] | None = None
    busy: int = 0

    def answered(self, path: str, authorization: str | None, body: bytes) -> tuple[int, Any]:
        self.asked.append((path, json.loads(body)))
        if self.busy:
            self.busy -= 1
            return 503, {}
        if self.answer is not None:
            return self.answer
        if authorization != f"Bearer {API_TOKEN}":
            errors = [{"code": 10000, "message": "Authentication error"}]
            return 403, {"success": False, "errors": errors, "result": None}
        result = self._session(json.loads(body))
        return 200, {"success": True, "errors": [], "messages": [], "result": result}

    def _session(self, asked: dict[str, Any]) -> dict[str, str]:
        import botocore.session

        who = self.store.signer
        sts = botocore.session.Session().create_client(
            "sts",
            region_name=self.store.region,
            endpoint_url=self.store.endpoint,
            aws_access_key_id=who.access_key_id,
            aws_secret_access_key=who.secret_access_key,
        )
        session = sts.assume_role(
            RoleArn=self.store.role_arn,
            RoleSessionName="r2",
            DurationSeconds=max(900, asked["ttlSeconds"]),
            Policy=_policy(asked["bucket"], asked.get("prefixes", [""])),
        )["Credentials"]
        names = {"AccessKeyId": "accessKeyId", "SecretAccessKey": "secretAccessKey"}
        names["SessionToken"] = "sessionToken"
        return {ours: session[theirs] for theirs, ours in names.items()}


def _policy(bucket: str, prefixes: list[str]) -> str:
    arn = f"arn:aws:s3:::{bucket}"
    objects = [f"{arn}/{prefix}*" for prefix in prefixes]
    listed = {"StringLike": {"s3:prefix": [f"{prefix}*" for prefix in prefixes]}}
    statements = [
        {"Effect": "Allow", "Action": "s3:GetObject", "Resource": objects},
        {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": arn, "Condition": listed},
    ]
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as running:
        yield running


@pytest.fixture
def api(server: SeaweedFS) -> Iterator[CloudflareApi]:
    cloudflare = CloudflareApi(server)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, document = cloudflare.answered(self.path, self.headers["Authorization"], body)
            content = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True).start()
        cloudflare.endpoint = f"http://127.0.0.1:{http.server_port}/client/v4"
        yield cloudflare
        http.shutdown()


@pytest_asyncio.fixture
async def connected(server: SeaweedFS, api: CloudflareApi) -> AsyncIterator[Callable[..., R2Storage]]:
    """Creates and closes storages of the store, by default with credentials from Cloudflare."""
    made: list[R2Storage] = []

    def connected(**settings: Any) -> R2Storage:
        config = R2Config.model_validate(
            {
                "prefix": f"r2://{server.bucket}@{ACCOUNT}.r2.cloudflarestorage.com/",
                "endpoint": server.endpoint,
                "access_key_id": server.signer.access_key_id,
                "secret_access_key": server.signer.secret_access_key,
                "vending": "api",
                "api_token": API_TOKEN,
                "api_endpoint": api.endpoint,
                **settings,
            }
        )
        made.append(R2Storage.configured(config, FakeContext()))
        return made[-1]

    yield connected
    for storage in made:
        await storage.aclose()
