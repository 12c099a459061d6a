"""Google's own library: who the gateway is there, and calls in its name.

google-auth blocks, so it runs in threads of its own limiter; it is imported when first needed.
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
"""All that the identity may do: the token service and the signing API take no less."""

_THREADS = 16
_SECONDS = 8
_RETRIES = 3
_BACKOFF_SECONDS = 0.2


class GoogleClient:
    """Runs blocking calls of google-auth over one pool of connections; its errors become ours."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(_THREADS)

    @cached_property
    def request(self) -> Callable[..., Any]:
        """What google-auth sends its requests by (`google.auth.transport.Request`)."""
        import requests
        from google.auth.transport.requests import Request
        from requests.adapters import HTTPAdapter
        from urllib3.util import Retry

        again = Retry(
            _RETRIES,
            connect=1,
            status_forcelist=(429, 502, 503, 504),
            allowed_methods=None,
            backoff_factor=_BACKOFF_SECONDS,
            raise_on_status=False,
        )
        session = requests.Session()
        session.mount("https://", HTTPAdapter(pool_maxsize=_THREADS, max_retries=again))
        session.mount("http://", HTTPAdapter(pool_maxsize=_THREADS, max_retries=again))
        return partial(Request(session), timeout=_SECONDS)

    def close(self) -> None:
        """Close the connections that there are."""
        made = self.__dict__.pop("request", None)
        if made is not None:
            made.func.session.close()

    async def run(self, work: Callable[[], _T]) -> _T:
        """The result of `work`, run in a thread.

        Raises:
            StorageError: google-auth refused, or Google did; `detail` has its words.
        """

        def translated() -> _T:
            with _translated_errors():
                return work()

        return await anyio.to_thread.run_sync(translated, limiter=self._limiter)

    async def call(self, url: str, token: AccessToken, body: Mapping[str, object]) -> dict[str, Any]:
        """The JSON answer to a POST of JSON, in the name of a token's owner.

        Raises:
            StorageError: Google refused, or does not answer.
        """
        return await self.run(lambda: self._post(url, token, body))

    def _post(self, url: str, token: AccessToken, body: Mapping[str, object]) -> dict[str, Any]:
        answer = self.request(
            url,
            method="POST",
            body=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token.value}", "Content-Type": "application/json"},
        )
        if answer.status != 200:
            raise StorageError(
                "Google refuses the gateway's identity for this storage; ask its operator",
                detail=f"{url} answered {answer.status}: {answer.data[:500]!r}",
            )
        document: dict[str, Any] = json.loads(answer.data)
        return document


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """Who signs URLs.

    Attributes:
        email: Its address.
        signature: Signs with its private key, where the gateway has that.
    """

    email: str
    signature: Callable[[bytes], bytes] | None = field(default=None, repr=False)


class Identity:
    """Who the gateway is: the service account of a key, or what the environment says.

    Args:
        client: Runs google-auth.
        key: JSON of a service account key; without it, application default credentials.
        email: Service account to sign for, where there is no key.
    """

    def __init__(
        self, client: GoogleClient, key: SecretStr | None = None, email: str | None = None
    ) -> None:
        self._client = client
        self._key = key
        self._email = email
        self._found: Credentials | None = None
        self._account: ServiceAccount | None = None

    async def token(self) -> AccessToken:
        """A new token, for all that the identity may do.

        Raises:
            StorageError: There are no credentials, or Google gives no token.
        """
        return await self._client.run(self._new_token)

    async def account(self) -> ServiceAccount:
        """The service account that signs.

        Raises:
            StorageError: There are no credentials, or they tell no service account.
        """
        if self._account is None:
            self._account = await self._client.run(self._known_account)
        return self._account

    def _new_token(self) -> AccessToken:
        credentials = self._credentials()
        credentials.refresh(self._client.request)
        token, expiry = credentials.token, credentials.expiry
        if token is None or expiry is None:
            raise StorageError("Google gave the gateway no token for this storage; try again later")
        return AccessToken(token, int(expiry.replace(tzinfo=UTC).timestamp() * 1000))

    def _known_account(self) -> ServiceAccount:
        from google.oauth2.service_account import Credentials as KeyCredentials

        if self._email is not None:
            return ServiceAccount(self._email)
        credentials = self._credentials()
        if isinstance(credentials, KeyCredentials):
            return ServiceAccount(credentials.service_account_email, credentials.sign_bytes)
        if getattr(credentials, "service_account_email", None) == "default":
            self._new_token()  # the metadata server tells the address with a token
        email = getattr(credentials, "service_account_email", None)
        if not email:
            raise StorageError(
                "the gateway cannot sign URLs of this storage; ask its operator",
                detail=f"{type(credentials).__name__} tell no account: set service_account_email",
            )
        return ServiceAccount(email)

    def _credentials(self) -> Credentials:
        if self._found is None:
            self._found = _key_credentials(self._key) if self._key else _default_credentials()
        return self._found


def _key_credentials(key: SecretStr) -> Credentials:
    from google.oauth2.service_account import Credentials as KeyCredentials

    document = json.loads(key.get_secret_value())
    made: Credentials = KeyCredentials.from_service_account_info(document, scopes=[SCOPE])
    return made


def _default_credentials() -> Credentials:
    import google.auth
    from google.auth.credentials import with_scopes_if_required

    # With scopes, `default` would ask Google for the project, which nothing here needs.
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
        # The library's words may quote the key.
        raise StorageError(
            "the gateway's Google credentials for this storage cannot be read; ask its operator",
            detail=type(error).__name__,
        ) from None
    except DefaultCredentialsError as error:
        raise StorageError(
            "the gateway has no Google credentials for this storage; ask its operator to set some",
            detail="set service_account_key, or let the gateway run with application default "
            f"credentials: {error}",
        ) from error
    except TransportError as error:
        raise StorageError(
            "the service that gives credentials for this storage does not answer; try again later",
            detail=str(error),
        ) from error
    except GoogleAuthError as error:
        raise StorageError(
            "Google refuses the gateway's credentials for this storage; ask its operator",
            detail=str(error),
        ) from error
