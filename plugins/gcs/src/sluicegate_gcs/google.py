"""Authenticates the gateway with google-auth, and sends requests on its behalf.

google-auth blocks, so it runs in threads with a separate limiter. It is imported when first needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
import anyio.to_thread

from sluicegate.api import SecretStr, StorageError
from sluicegate_gcs.tokens import AccessToken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.auth.credentials import Credentials

_T = TypeVar("_T")

SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
"""OAuth scope of the gateway's tokens. The token service and the signing API accept no narrower one."""

_THREADS = 16
_SECONDS = 8
_RETRIES = 3
_BACKOFF_SECONDS = 0.2


class GoogleClient:
    """Runs blocking calls of google-auth with one connection pool, and translates its errors."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(_THREADS)

    @cached_property
    def request(self) -> Callable[..., Any]:
        """Return google-auth's transport (`google.auth.transport.Request`)."""
        import requests
        from google.auth.transport.requests import Request
        from requests.adapters import HTTPAdapter
        from urllib3.util import Retry

        retries = Retry(
            _RETRIES,
            connect=1,
            status_forcelist=(429, 502, 503, 504),
            allowed_methods=None,
            backoff_factor=_BACKOFF_SECONDS,
            raise_on_status=False,
        )
        session = requests.Session()
        session.mount("https://", HTTPAdapter(pool_maxsize=_THREADS, max_retries=retries))
        session.mount("http://", HTTPAdapter(pool_maxsize=_THREADS, max_retries=retries))
        return partial(Request(session), timeout=_SECONDS)

    def close(self) -> None:
        """Close open connections."""
        request = self.__dict__.pop("request", None)
        if request is not None:
            request.func.session.close()

    async def run(self, work: Callable[[], _T]) -> _T:
        """Run `work` in a thread and return its result."""

        def translated() -> _T:
            with _translated_errors():
                return work()

        return await anyio.to_thread.run_sync(translated, limiter=self._limiter)

    async def call(self, url: str, token: AccessToken, body: Mapping[str, object]) -> dict[str, Any]:
        """Send a POST request with JSON and a token, and return the JSON response."""
        return await self.run(lambda: self._post(url, token, body))

    def _post(self, url: str, token: AccessToken, body: Mapping[str, object]) -> dict[str, Any]:
        response = self.request(
            url,
            method="POST",
            body=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token.value}", "Content-Type": "application/json"},
        )
        if response.status != 200:
            raise StorageError(
                "Google rejects the gateway's identity for this storage; ask the gateway's operator",
                detail=f"{url} returned status {response.status}: {response.data[:500]!r}",
            )
        document: dict[str, Any] = json.loads(response.data)
        return document


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """The service account that signs URLs."""

    email: str
    signature: Callable[[bytes], bytes] | None = field(default=None, repr=False)


class Identity:
    """The gateway's identity: the service account of a key, or that of the environment."""

    def __init__(
        self, client: GoogleClient, key: SecretStr | None = None, email: str | None = None
    ) -> None:
        self._client = client
        self._key = key
        self._email = email
        self._found: Credentials | None = None
        self._account: ServiceAccount | None = None

    async def token(self) -> AccessToken:
        """Return a new token with all permissions of the identity."""
        return await self._client.run(self._new_token)

    async def account(self) -> ServiceAccount:
        """Return the service account that signs."""
        if self._account is None:
            self._account = await self._client.run(self._known_account)
        return self._account

    def _new_token(self) -> AccessToken:
        credentials = self._credentials()
        credentials.refresh(self._client.request)
        token, expiry = credentials.token, credentials.expiry
        if token is None or expiry is None:
            raise StorageError("Google issued the gateway no token for this storage; try again later")
        return AccessToken(token, int(expiry.replace(tzinfo=UTC).timestamp() * 1000))

    def _known_account(self) -> ServiceAccount:
        from google.oauth2.service_account import Credentials as KeyCredentials

        if self._email is not None:
            return ServiceAccount(self._email)
        credentials = self._credentials()
        if isinstance(credentials, KeyCredentials):
            return ServiceAccount(credentials.service_account_email, credentials.sign_bytes)
        if getattr(credentials, "service_account_email", None) == "default":
            self._new_token()  # the metadata server returns the address together with a token
        email = getattr(credentials, "service_account_email", None)
        if not email:
            raise StorageError(
                "the gateway cannot sign URLs for this storage; ask the gateway's operator",
                detail=f"{type(credentials).__name__} name no service account: set "
                "service_account_email",
            )
        return ServiceAccount(email)

    def _credentials(self) -> Credentials:
        if self._found is None:
            self._found = _key_credentials(self._key) if self._key else _default_credentials()
        return self._found


def import_google_auth() -> None:
    """Import what authentication needs."""
    import google.auth
    import google.auth.transport.requests
    import google.oauth2.service_account  # noqa: F401


def _key_credentials(key: SecretStr) -> Credentials:
    from google.oauth2.service_account import Credentials as KeyCredentials

    document = json.loads(key.get_secret_value())
    made: Credentials = KeyCredentials.from_service_account_info(document, scopes=[SCOPE])
    return made


def _default_credentials() -> Credentials:
    import google.auth
    from google.auth.credentials import with_scopes_if_required

    # With scopes, `default` would request the project from Google, which is not needed here.
    found: Credentials = with_scopes_if_required(google.auth.default()[0], [SCOPE])
    return found


@contextmanager
def _translated_errors() -> Iterator[None]:
    from google.auth.exceptions import (
        DefaultCredentialsError,
        GoogleAuthError,
        MalformedError,
        TransportError,
    )

    try:
        yield
    except (MalformedError, ValueError) as error:
        # The library's message might quote the key.
        raise StorageError(
            "the gateway's Google credentials for this storage are not readable; ask the gateway's "
            "operator",
            detail=type(error).__name__,
        ) from None
    except (AttributeError, KeyError, TypeError) as error:
        # google-auth doesn't validate the responses of token services.
        raise StorageError(
            "the service that issues credentials for this storage does not respond as expected; try "
            "again later",
            detail=f"{type(error).__name__}: {error}",
        ) from error
    except DefaultCredentialsError as error:
        raise StorageError(
            "the gateway has no Google credentials for this storage; ask the gateway's operator",
            detail=f"set service_account_key, or provide application default credentials: {error}",
        ) from error
    except TransportError as error:
        raise StorageError(
            "the service that issues credentials for this storage does not respond; try again later",
            detail=str(error),
        ) from error
    except GoogleAuthError as error:
        raise StorageError(
            "Google rejects the gateway's credentials for this storage; ask the gateway's operator",
            detail=str(error),
        ) from error
