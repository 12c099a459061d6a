"""Identifies recipients by client certificates that the gateway or a trusted proxy has verified."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sluicegate.api import (
    AuthenticationRequest,
    Authenticator,
    ClientCertificate,
    PluginContext,
    Principal,
    Unauthenticated,
)
from sluicegate_mtls.config import Identity, MtlsConfig

_IDENTITIES: Mapping[Identity, Callable[[ClientCertificate], Sequence[str]]] = {
    "common_name": lambda certificate: certificate.common_names,
    "dns_name": lambda certificate: certificate.dns_names,
    "uri": lambda certificate: certificate.uris,
    "email": lambda certificate: certificate.emails,
    "subject": lambda certificate: (certificate.subject,),
    "fingerprint": lambda certificate: (certificate.fingerprint,),
}


class MtlsAuthenticator(Authenticator):
    """Identifies a recipient by its client certificate.

    Requests with an `Authorization` header are left to other authenticators. If a client sends invalid
    credentials, the request fails, even if its connection has a valid certificate.
    """

    def __init__(self, config: MtlsConfig) -> None:
        self._config = config
        self._identities = _IDENTITIES[config.identity]
        self._issuers = None if config.issuers is None else frozenset(config.issuers)

    @classmethod
    def configured(cls, config: MtlsConfig, context: PluginContext) -> MtlsAuthenticator:
        """Return the authenticator for a section of the configuration."""
        return cls(config)

    async def authenticate(self, request: AuthenticationRequest) -> Principal | None:
        """Return the recipient; `None` if there is no certificate of a configured issuer."""
        if request.authorization:
            return None
        certificate = await request.client_certificate()
        if certificate is None or not self._is_issued(certificate):
            return None
        return Principal(id="", name=self._recipient(certificate), method="mtls")

    def _is_issued(self, certificate: ClientCertificate) -> bool:
        return self._issuers is None or certificate.issuer in self._issuers

    def _recipient(self, certificate: ClientCertificate) -> str:
        found = self._identities(certificate)
        if len(found) != 1 or not found[0]:
            kind = self._config.identity.replace("_", " ")
            raise Unauthenticated(
                f"the client certificate must contain exactly one {kind}, but it contains {len(found)}",
                detail=certificate.subject,
            )
        known = self._config.recipients
        name = found[0] if known is None else known.get(found[0])
        if name is None:
            raise Unauthenticated(
                "the client certificate is not registered for a recipient; contact the provider",
                detail=certificate.subject,
            )
        return name
