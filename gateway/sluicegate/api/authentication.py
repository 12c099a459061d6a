"""The requests that authenticators receive; part of `sluicegate.api`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A client certificate that TLS has verified, in the gateway or in a trusted proxy.

    Attributes:
        subject: Distinguished name in the format of RFC 4514: `CN=acme,O=Acme Corp`.
        issuer: Distinguished name of the authority, in the same format.
        serial_number: Serial number, which is unique for an issuer.
        fingerprint: SHA-256 of the certificate, in lower-case hexadecimal.
        not_before: Start of its validity, epoch milliseconds.
        not_after: End of its validity, epoch milliseconds.
        common_names: The attributes `CN` of the subject; usually one.
        dns_names: Subject alternative names of the type DNS.
        uris: Subject alternative names of the type URI, such as SPIFFE ids.
        emails: Subject alternative names of the type email.
        der: The certificate in DER.
    """

    subject: str
    issuer: str
    serial_number: int
    fingerprint: str
    not_before: int
    not_after: int
    common_names: tuple[str, ...] = ()
    dns_names: tuple[str, ...] = ()
    uris: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    der: bytes = field(default=b"", repr=False)


async def _no_certificate() -> ClientCertificate | None:
    return None


@dataclass(frozen=True, slots=True)
class AuthenticationRequest:
    """The request to authenticate. Its `repr` contains neither headers nor the query.

    Attributes:
        method: HTTP method in upper case.
        path: The path as sent: percent-encoded, without the query.
        query: The query as sent, without the question mark. It may contain secrets.
        headers: Headers by case-insensitive name; use lower case. If a header was sent more than once,
            this is the first value.
        address: IP address of the sender, even behind trusted proxies; `None` if it is not known.
        read_certificate: The function that `client_certificate` calls.
    """

    method: str
    path: str
    query: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    address: str | None = None
    read_certificate: Callable[[], Awaitable[ClientCertificate | None]] = field(
        default=_no_certificate, repr=False
    )

    @property
    def authorization(self) -> str:
        """The `Authorization` header; empty if there is none."""
        return self.headers.get("authorization", "")

    async def client_certificate(self) -> ClientCertificate | None:
        """Return the verified certificate of the sender, or `None` if there is none.

        It comes from the TLS connection (`server.tls.client_ca`), or from the header of a trusted proxy
        (`server.client_certificates`). A proxy's own certificate is never returned.

        Raises:
            Unauthenticated: The certificate has expired, or the proxy's header cannot be read.
        """
        return await self.read_certificate()
