"""The base classes of authenticators and policies."""

from __future__ import annotations

from abc import ABC, abstractmethod

from sluicegate.api.authentication import AuthenticationRequest
from sluicegate.api.models import PolicyAction, SharedTable
from sluicegate.api.principals import Principal


class Authenticator(ABC):
    """Authenticates recipients by other means than the gateway's own bearer tokens.

    Attributes:
        challenge: The challenge in the `WWW-Authenticate` header of 401 responses (RFC 9110, section
            11.6.1): `Basic realm="sluicegate"`. `None` if this method has no challenge, such as
            certificates.
    """

    challenge: str | None = None

    @abstractmethod
    async def authenticate(self, request: AuthenticationRequest) -> Principal | None:
        """Return the principal, or `None` if the request has no credentials for this authenticator.

        The gateway calls this method for each request that has none of its own tokens, including
        requests without an `Authorization` header. It uses only two attributes of the principal:
        `name`, which must be identical to the name of a recipient, including its case, and `method`.
        It looks up the recipient's access, id, and properties itself. A call that takes longer than ten
        seconds ends with `Unavailable`.

        Args:
            request: Method, path, headers, address and client certificate.

        Raises:
            Unauthenticated: The credentials are for this authenticator, but not valid. The response
                contains the error's `challenge`, or else that of the authenticator.
            Unavailable: The credentials are for this authenticator, but cannot be checked now.
        """

    def preload(self) -> None:  # noqa: B027 (having nothing to import is the usual case)
        """Import the modules that the first request needs.

        Called once at startup, in a worker thread. The gateway is ready after all of these calls, and
        an error prevents the start. Do not contact other systems, which might be unavailable.
        """

    async def aclose(self) -> None:  # noqa: B027 (having nothing to release is the usual case)
        """Release connections; called once at the end."""


class Policy(ABC):
    """Restricts the access of granted recipients. Called with sets of tables, not with single ones."""

    @abstractmethod
    async def allowed(
        self, principal: Principal, action: PolicyAction, tables: frozenset[SharedTable]
    ) -> frozenset[SharedTable]:
        """Return the subset of `tables` on which the principal is allowed to perform the action.

        Called for every request, so make decisions in memory if you can. If a recipient is not allowed
        to read a table, the table does not exist for this recipient, and no other action on it is
        requested.

        Args:
            principal: The recipient, with its properties.
            action: `read`: see the table, its metadata, and its files. `vend`: get temporary
                credentials for its directories, and see that the table offers them (`dir`).
            tables: The granted tables that remain after previous policies: one table, or those of one
                page of a listing. Volumes, models and skills are `SharedAsset`, with a `kind`.

        Raises:
            Unavailable: The decision is not possible now. Any other error, and a timeout, has the same
                effect.
        """

    def preload(self) -> None:  # noqa: B027 (having nothing to import is the usual case)
        """Import the modules that the first request needs.

        Called once at startup, in a worker thread. The gateway is ready after all of these calls, and
        an error prevents the start. Do not contact other systems, which might be unavailable.
        """

    async def aclose(self) -> None:  # noqa: B027 (having nothing to release is the usual case)
        """Release connections; called once at the end."""
