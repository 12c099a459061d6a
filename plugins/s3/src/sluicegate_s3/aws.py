"""Credentials that AWS gives: botocore's default chain, and assumed roles.

botocore blocks, so it runs in threads of its own limiter; it is imported when first needed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from sluicegate.api import StorageError
from sluicegate_s3.credentials import Credentials, CredentialSource, FreshCredentials

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

_T = TypeVar("_T")

_THREADS = 4
_CONNECT_SECONDS = 3
_READ_SECONDS = 5
_ATTEMPTS = 2


class BotocoreThreads:
    """Runs blocking calls of botocore and turns its errors into ours."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(_THREADS)

    async def run(self, work: Callable[[], _T]) -> _T:
        """The result of `work`, run in a thread.

        Raises:
            StorageError: botocore refused, or the service did; `detail` has its words.
        """

        def translated() -> _T:
            with _translated_errors():
                return work()

        return await anyio.to_thread.run_sync(translated, limiter=self._limiter)


class DefaultChain(CredentialSource):
    """What botocore finds: environment, shared files, web identity, container and instance roles."""

    def __init__(self, threads: BotocoreThreads, profile: str | None = None) -> None:
        self._threads = threads
        self._profile = profile

    async def load(self) -> Credentials:
        """Credentials of a new walk along the chain."""
        return await self._threads.run(self._walk)

    def _walk(self) -> Credentials:
        import botocore.session

        found = botocore.session.Session(profile=self._profile).get_credentials()
        if found is None:
            raise StorageError(
                "the gateway has no AWS credentials for this storage; ask its operator to set some",
                detail="botocore's chain is empty: set access_key_id and secret_access_key, a profile, "
                "the environment, or give the gateway a container or instance role",
            )
        frozen = found.get_frozen_credentials()
        # botocore keeps the end of refreshable credentials private; static ones have no such field.
        expiry: datetime | None = getattr(found, "_expiry_time", None)
        return Credentials(frozen.access_key, frozen.secret_key, frozen.token, _milliseconds(expiry))


@dataclass(frozen=True, slots=True)
class Role:
    """A role to assume, and the token service that does it.

    Attributes:
        arn: The role.
        session_name: Appears in the store's logs.
        duration: Wanted life of a session in seconds; the service may give less.
        region: Region of the token service.
        endpoint: URL of the token service; `None` is the region's of AWS.
        external_id: Asked for by some trust policies.
    """

    arn: str
    session_name: str
    duration: int
    region: str
    endpoint: str | None = None
    external_id: str | None = None

    def request(self) -> dict[str, Any]:
        """Parameters of `AssumeRole`."""
        request = {
            "RoleArn": self.arn,
            "RoleSessionName": self.session_name,
            "DurationSeconds": self.duration,
            "ExternalId": self.external_id,
        }
        return {name: value for name, value in request.items() if value is not None}


class AssumedRole(CredentialSource):
    """Sessions of a role, assumed with other credentials."""

    def __init__(self, threads: BotocoreThreads, role: Role, base: FreshCredentials) -> None:
        self._threads = threads
        self._role = role
        self._base = base

    async def load(self) -> Credentials:
        """A new session."""
        base = await self._base.get()
        return await self._threads.run(lambda: self._assume(base))

    def _assume(self, base: Credentials) -> Credentials:
        session = _sts_client(self._role, base).assume_role(**self._role.request())["Credentials"]
        return Credentials(
            session["AccessKeyId"],
            session["SecretAccessKey"],
            session["SessionToken"],
            _milliseconds(session["Expiration"]),
        )


def _sts_client(role: Role, base: Credentials) -> Any:
    import botocore.session
    from botocore.config import Config

    return botocore.session.Session().create_client(
        "sts",
        region_name=role.region,
        endpoint_url=role.endpoint,
        aws_access_key_id=base.access_key_id,
        aws_secret_access_key=base.secret_access_key,
        aws_session_token=base.session_token,
        config=Config(
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            retries={"total_max_attempts": _ATTEMPTS, "mode": "standard"},
        ),
    )


def _milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)


@contextmanager
def _translated_errors() -> Iterator[None]:
    from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
    from botocore.exceptions import ConnectionError as ConnectionFailed

    try:
        yield
    except ClientError as error:
        raise StorageError(
            "the token service refuses the gateway's credentials for this storage; ask its operator",
            detail=str(error),
        ) from error
    except (ConnectionFailed, HTTPClientError) as error:
        raise StorageError(
            "the service that gives credentials for this storage does not answer; try again later",
            detail=str(error),
        ) from error
    except BotoCoreError as error:
        raise StorageError(
            "the gateway's AWS configuration for this storage does not work; ask its operator",
            detail=str(error),
        ) from error
