"""Accesses AWS through botocore: its default credential chain, clients, and errors.

botocore blocks, so it runs in threads with a separate limiter. It is imported when first needed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from sluicegate.api import SluicegateError, StorageError, UnsupportedOperation
from sluicegate_s3.credentials import Credentials, CredentialSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from botocore.exceptions import ClientError
    from botocore.loaders import Loader
    from botocore.session import Session

_T = TypeVar("_T")

_THREADS = 4
_CONNECT_SECONDS = 3
_READ_SECONDS = 5
_ATTEMPTS = 3
_BUSY = frozenset(("Throttling", "ThrottlingException", "RequestLimitExceeded", "SlowDown"))


class BotocoreThreads:
    """Runs blocking calls of botocore and translates its errors."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(_THREADS)

    async def run(self, work: Callable[[], _T], key_id: str | None = None) -> _T:
        """Run `work` in a thread and return its result."""

        def translated() -> _T:
            with _translated_errors(key_id):
                return work()

        return await anyio.to_thread.run_sync(translated, limiter=self._limiter)


class DefaultChain(CredentialSource):
    """botocore's default chain: environment, files, web identity, container and instance roles."""

    def __init__(self, threads: BotocoreThreads, profile: str | None = None) -> None:
        self._threads = threads
        self._profile = profile

    async def load(self) -> Credentials:
        """Evaluate the chain again, and return its credentials."""
        return await self._threads.run(self._resolve)

    def _resolve(self) -> Credentials:
        found = _session(self._profile).get_credentials()
        if found is None:
            raise StorageError(
                "the gateway has no AWS credentials for this storage; ask the gateway's operator",
                detail="botocore's credential chain is empty: set access_key_id and "
                "secret_access_key, a profile, or the AWS environment variables, or assign a "
                "container or instance role to the gateway",
            )
        frozen = found.get_frozen_credentials()
        # The expiry of refreshable credentials is a private field of botocore; static ones lack it.
        expiry: datetime | None = getattr(found, "_expiry_time", None)
        return Credentials(frozen.access_key, frozen.secret_key, frozen.token, milliseconds(expiry))


def import_botocore() -> None:
    """Import what loading credentials needs."""
    import botocore.credentials
    import botocore.parsers
    import botocore.session  # noqa: F401


def client(service: str, base: Credentials, *, region: str, endpoint: str | None) -> Any:
    """Return a client of an AWS service that signs with these credentials; it blocks."""
    from botocore.config import Config

    return _session().create_client(
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


def _session(profile: str | None = None) -> Session:
    """Return a session whose clients share what they know about AWS's services.

    Each session would read it again, which takes 8 MB: a lot for a gateway that makes new clients
    whenever it reloads its configuration.
    """
    import botocore.session

    session = botocore.session.Session(profile=profile)
    session.register_component("data_loader", _service_data())
    return session


@cache
def _service_data() -> Loader:
    import botocore.session

    loader: Loader = botocore.session.Session().get_component("data_loader")
    return loader


def milliseconds(moment: datetime | None) -> int | None:
    """Return epoch milliseconds."""
    return None if moment is None else int(moment.timestamp() * 1000)


@contextmanager
def _translated_errors(key_id: str | None) -> Iterator[None]:
    from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
    from botocore.exceptions import ConnectionError as ConnectionFailed
    from botocore.parsers import ResponseParserError

    try:
        yield
    except ClientError as error:
        raise _refusal(error_code(error), _refusal_text(error, key_id)) from error
    except (ConnectionFailed, HTTPClientError) as error:
        raise StorageError(
            "the service that issues credentials for this storage does not respond; try again later",
            detail=str(error),
        ) from error
    except (ResponseParserError, KeyError) as error:
        # The response is not that of a token service, but that of a proxy or another service.
        raise StorageError(
            "the service that issues credentials for this storage does not respond as expected; try "
            "again later",
            detail=f"{type(error).__name__}: {error}",
        ) from error
    except BotoCoreError as error:
        raise StorageError(
            "the gateway's AWS configuration for this storage is invalid; ask the gateway's operator",
            detail=str(error),
        ) from error


def error_code(error: ClientError) -> str:
    """Return the error code of an AWS service, or of another one, such as SeaweedFS."""
    return str(_error_of(error).get("Code", "Unknown"))


def _error_of(error: ClientError) -> Mapping[str, Any]:
    """Return code and message. Some services don't put `Error` into an `ErrorResponse`."""
    response: Mapping[str, Any] = error.response
    found = response.get("Error")
    return found if isinstance(found, dict) and found.get("Code") else response


def _refusal_text(error: ClientError, key_id: str | None) -> str:
    message = str(_error_of(error).get("Message") or error)
    signed = "" if key_id is None else f" (signed with the access key '{key_id}')"
    return f"{error.operation_name}: {error_code(error)}: {message}{signed}"


def _refusal(code: str, message: str) -> SluicegateError:
    """Translate a service's error for recipients."""
    if code == "PackedPolicyTooLarge":
        return UnsupportedOperation(
            "the session policy for the table's directories is too large for the token service; "
            "read the table with 'url' access, or ask the gateway's operator to configure fewer "
            "session tags",
            detail=message,
        )
    if code in _BUSY:
        return StorageError(
            "the service that issues credentials for this storage is busy; try again later",
            detail=message,
        )
    return StorageError(
        "the token service rejects the gateway's credentials for this storage; ask the gateway's "
        "operator",
        detail=message,
    )
