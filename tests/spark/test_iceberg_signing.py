"""Iceberg's Java library reads files through signed requests, from a store that enforces signatures."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from support.process.spark import POM, jars, require_spark
from support.servers.iceberg_signing import signing_server

from sluicegate_s3.config import S3Config
from sluicegate_s3.storage import S3Storage
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.servers.seaweedfs import SeaweedFS
from sluicegate_testing.storage import AWKWARD_NAMES

_READER = POM.parent / "java" / "ReadFiles.java"
CONTENT = bytes(range(256)) * 1024
READ = f"{len(CONTENT)} {len(CONTENT)} {CONTENT[1000]}"


def test_files_are_read_by_their_paths_and_others_are_refused(tmp_path: Path) -> None:
    require_spark()
    with SeaweedFS.start(tmp_path) as store:
        for name in AWKWARD_NAMES:
            store.put(f"orders/{name}", CONTENT)
        config = S3Config.model_validate(
            {
                "prefix": f"s3://{store.bucket}/",
                "endpoint": store.endpoint,
                "access_key_id": store.signer.access_key_id,
                "secret_access_key": store.signer.secret_access_key,
            }
        )
        location = f"s3://{store.bucket}/orders"
        with signing_server(S3Storage.configured(config, FakeContext()), location) as server:
            paths = server.paths(*AWKWARD_NAMES, f"{location}/{AWKWARD_NAMES[0]}")
            properties = {
                **server.config,
                "uri": f"{server.url}/iceberg",
                "token": "t",
                "http-client.type": "urlconnection",
            }
            read = _read(properties, [*paths, f"{paths[0]}x", f"{location}/{AWKWARD_NAMES[0]}"])
            methods = [body["method"] for body, _ in server.requests[:3]]
    assert read == [READ] * len(paths) + ["ForbiddenException"] * 2
    assert methods == ["GET", "GET", "HEAD"]


def _read(properties: dict[str, str], paths: list[str]) -> list[str]:
    java = shutil.which("java")
    assert java is not None
    classpath = ":".join(map(str, jars(POM.with_name("iceberg-catalog.xml"))))
    told = [part for name_and_value in properties.items() for part in name_and_value]
    ended = subprocess.run(
        [java, "-Xmx256m", "-cp", classpath, str(_READER), *told, "--", *paths],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return ended.stdout.splitlines()
