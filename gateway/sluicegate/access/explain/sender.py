"""Explains whether the requests of a recipient are authenticated: its state, credentials, network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sluicegate._util.clock import iso_utc
from sluicegate.access.authentication.recipient_checks import (
    credential_problem,
    network_problem,
    revocation_problem,
)
from sluicegate.access.explain.lookups import HeldCredential, KnownRecipient
from sluicegate.access.explain.steps import Step
from sluicegate.api.errors import NotAuthenticated, SluicegateError
from sluicegate.api.principals import Principal
from sluicegate.config import OidcSettings
from sluicegate.config.sections.authentication import AuthenticationSettings
from sluicegate.database.names import name_key

_KINDS = {"bearer": "bearer token", "oauth": "OAuth client"}


@dataclass(frozen=True, slots=True)
class Sender:
    """A recipient as the sender of a request.

    Attributes:
        error: The error that each of its requests gets, or `None`.
    """

    principal: Principal
    steps: tuple[Step, ...]
    error: SluicegateError | None


def explain_sender(
    known: KnownRecipient,
    settings: AuthenticationSettings,
    address: str | None,
    now: int,
) -> Sender:
    """Decide whether a recipient's requests are authenticated, with the checks of requests."""
    record = known.record
    revoked = revocation_problem(record)
    method, credentials, no_credentials = _credentials(known, settings, now)
    outside = None if address is None else network_problem(record, address)
    return Sender(
        Principal(record.id, record.name, method, address, record.properties),
        (
            _state(known, revoked),
            credentials,
            _network(known, address, outside),
        ),
        no_credentials or revoked or outside,
    )


def _state(known: KnownRecipient, revoked: SluicegateError | None) -> Step:
    name = known.record.name
    if revoked is None:
        return Step("recipient", "allowed", f"'{name}' is not revoked")
    return Step("recipient", "refused", f"'{name}' was revoked {iso_utc(known.record.revoked_at or 0)}")


def _network(known: KnownRecipient, address: str | None, outside: SluicegateError | None) -> Step:
    networks = ", ".join(map(str, known.record.allow_from))
    if not networks:
        return Step("network", "allowed", "allow_from is not set: any address")
    if address is None:
        return Step(
            "network", "unknown", f"allow_from: {networks}; decide about an address with --from"
        )
    if outside is not None:
        return Step("network", "refused", f"{address} is in no network of allow_from: {networks}")
    return Step("network", "allowed", f"{address} is in a network of allow_from: {networks}")


def _credentials(
    known: KnownRecipient, settings: AuthenticationSettings, now: int
) -> tuple[str, Step, SluicegateError | None]:
    """The method of authentication, the step, and the error if no method can succeed."""
    described, failures = list[str](), list[SluicegateError]()
    methods = list[str]()
    for held in known.credentials:
        problem = credential_problem(held.record, _KINDS[held.kind], now)
        if problem is None:
            methods.append(held.kind)
            described.append(f"{_KINDS[held.kind]} valid until {iso_utc(held.record.expires_at)}")
        else:
            failures.append(problem)
    for method, others in _other_ways(known.record.name, settings):
        methods.append(method)
        described.append(others)
    if methods:
        return methods[0], Step("credentials", "allowed", "; ".join(described)), None
    newest = known.credentials[:1]
    error = failures[0] if failures else NotAuthenticated("the recipient has no credentials")
    return "", Step("credentials", "refused", _ended(newest)), error


def _ended(newest: Sequence[HeldCredential]) -> str:
    for held in newest:
        record, what = held.record, _KINDS[held.kind]
        if record.revoked_at is not None:
            return f"the newest {what} was revoked {iso_utc(record.revoked_at)}; rotate the recipient"
        return f"the newest {what} expired {iso_utc(record.expires_at)}; rotate the recipient"
    return "no credential was issued; rotate the recipient"


def _other_ways(name: str, settings: AuthenticationSettings) -> list[tuple[str, str]]:
    ways = [("oidc", text) for each in settings.oidc if (text := _of_issuer(name, each)) is not None]
    plugins = ", ".join(f"'{each.type}'" for each in settings.authenticators)
    return [*ways, *([("plugin", f"authenticators that may name it: {plugins}")] if plugins else [])]


def _of_issuer(name: str, issuer: OidcSettings) -> str | None:
    """How tokens of an issuer name the recipient, or `None` if they can't."""
    if issuer.recipients is None:
        return f"tokens of {issuer.issuer} with {issuer.claim} = {name!r}"
    values = [claim for claim, named in issuer.recipients.items() if name_key(named) == name_key(name)]
    if not values:
        return None
    return f"tokens of {issuer.issuer} with {issuer.claim} = {' or '.join(map(repr, values))}"
