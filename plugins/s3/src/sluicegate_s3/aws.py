"""AWS through botocore: its default chain of credentials, its clients, its errors.

botocore blocks, so it runs in threads of its own limiter; it is imported when first needed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from sluicegate.api import SluicegateError, StorageError, UnsupportedOperation
from sluicegate_s3.credentials import Credentials, CredentialSource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from botocore.exceptions import ClientError

_T = TypeVar("_T")

_THREADS = 4
_CONNECT_SECONDS = 3
_READ_SECONDS = 5
_ATTEMPTS = 3
_BUSY = frozenset(("Throttling", "ThrottlingException", "RequestLimitExceeded", "SlowDown"))


class BotocoreThreads:
    """Runs blocking calls of botocore and turns its errors into ours."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(_THREADS)

    async def run(self, work: Callable[[], _T]) -> _T:
        """The result of `work`, run in a thread.

        Raises:
            StorageError: botocore refused, or the service did; `detail` has its words.
            UnsupportedOperation: The service finds a session policy too large.
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
        return Credentials(frozen.access_key, frozen.secret_key, frozen.token, milliseconds(expiry))


def client(service: str, base: Credentials, *, region: str, endpoint: str | None) -> Any:
    """A client of one service of AWS that signs with these credentials; it blocks.

    Args:
        service: `sts` or `iam`.
        base: What it signs with.
        region: The service's region, or one of its partition.
        endpoint: The service's URL; `None` is AWS's.
    """
    import botocore.session
    from botocore.config import Config

    return botocore.session.Session().create_client(
        service,
        region_name=region,
        endpoint_url=endpoint,
        aws_access_key_id=base.access_key_id,
        aws_secret_access_key=base.secret_access_key,
        aws_session_token=base.session_token,
        config=Config(
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            retries={"total_max_attempts": _ATTEMPTS, "mode": "standard"},
        ),
    )


def milliseconds(moment: datetime | None) -> int | None:
    """A moment as epoch milliseconds."""
    return None if moment is None else int(moment.timestamp() * 1000)


@contextmanager
def _translated_errors() -> Iterator[None]:
    from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
    from botocore.exceptions import ConnectionError as ConnectionFailed

    try:
        yield
    except ClientError as error:
        raise _refusal(error_code(error), str(error)) from error
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


def error_code(error: ClientError) -> str:
    """What a service of AWS calls its refusal."""
    return str(error.response["Error"]["Code"])


def _refusal(code: str, words: str) -> SluicegateError:
    """What the service's refusal means to a recipient."""
    if code == "PackedPolicyTooLarge":
        return UnsupportedOperation(
            "the table's directories make a session policy that is too large for the token service; "
            "read it by presigned URLs, or ask the gateway's operator for fewer session tags",
            detail=words,
        )
    if code in _BUSY:
        return StorageError(
            "the service that gives credentials for this storage is busy; try again later", detail=words
        )
    return StorageError(
        "the token service refuses the gateway's credentials for this storage; ask its operator",
        detail=words,
    )
